/** The feed of the console: the receipts of all replicas, resumed where its reader stood. */

import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Receipt } from '../../tunnel/src/contract.ts'
import { readCursor } from '../../web/lib/console/cursor.ts'
import { type Mark, streamFeed } from '../../web/lib/console/feed.ts'
import { errorOf } from '../helpers/envelopes.ts'
import { post } from '../helpers/post.ts'
import { startTunnel, type Tunnel } from '../helpers/tunnel.ts'

const DSN = 'https://culvert@inbox.invalid/1'
const started = new AsyncDisposableStack()
let tunnels: Tunnel[]

beforeAll(async () => {
  const starting = [startTunnel(), startTunnel(), startTunnel()]
  tunnels = (await Promise.all(starting)).map((tunnel) => started.use(tunnel))
}, 60_000)

afterAll(() => started.disposeAsync())

/** Posts so many to each of the tunnels, and gives their event ids. */
async function send(many: number, to = tunnels): Promise<string[]> {
  const ids = Array.from({ length: many * to.length }, () => randomUUID().replaceAll('-', ''))
  for (const [index, id] of ids.entries()) {
    const { status } = await post(to[index % to.length]?.url ?? '', { body: errorOf(DSN, { event_id: id }) })
    expect(status).toBe(200)
  }
  return ids.sort()
}

/** Reads from a cursor until `enough`; what it read, and where it stands then. */
async function read(
  after: string,
  enough: (receipts: Receipt[], marks: Mark[]) => boolean,
  isWelcome = () => true,
) {
  const stream = streamFeed(
    {
      origins: async () => tunnels.map(({ adminUrl }) => adminUrl),
      nameOf: async (origin) => (await (await ask(origin, '/status')).json()).replica,
      open: (origin, lastId, signal) =>
        ask(origin, '/receipts', { headers: { 'last-event-id': lastId }, signal }),
      isWelcome,
      now: Date.now,
    },
    readCursor(after),
  )
  const texts = stream as ReadableStream<BufferSource>
  const events = texts.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  const [receipts, marks]: [Receipt[], Mark[]] = [[], []]
  let cursor = after
  for await (const { id, data } of events) {
    const told = JSON.parse(data)
    receipts.push(...told.receipts)
    marks.push(...told.marks)
    cursor = id ?? cursor
    if (enough(receipts, marks)) break
  }
  return { receipts, marks, cursor }
}

function ask(origin: string, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = {
    authorization: `Bearer ${tunnels[0]?.token}`,
    ...(init.headers as Record<string, string>),
  }
  return fetch(origin + path, { ...init, headers })
}

const idsOf = (receipts: Receipt[]) => receipts.map(({ eventId }) => eventId).sort()

describe('The feed of the console', () => {
  it('tells what all replicas still keep, then what comes, each once and none left out, over any number of breaks', async () => {
    const sent = await send(4)
    let { receipts, cursor } = await read('', (all) => all.length >= 12)
    expect(idsOf(receipts)).toEqual(sent)
    for (let breaks = 0; breaks < 3; breaks++) {
      const meanwhile = await send(2)
      const next = await read(cursor, (all) => all.length >= 6)
      expect(idsOf(next.receipts)).toEqual(meanwhile)
      expect(next.marks).toEqual([])
      cursor = next.cursor
      receipts = [...receipts, ...next.receipts]
    }
    expect(new Set(receipts.map(({ id }) => id)).size).toBe(30)
    const again = read(cursor, (all) => all.length > 0)
    const last = await send(1, tunnels.slice(0, 1))
    expect(idsOf((await again).receipts)).toEqual(last)
  })

  it('marks a replica that is killed as silent, and tells all that others settle meanwhile', async () => {
    const { cursor } = await read('', (all) => all.length >= 31)
    const reading = read(cursor, (all, marks) => all.length >= 2 && marks.length > 0)
    const [, , third] = tunnels
    await wait(500) // it is being read
    await third?.kill()
    const sent = await send(1, tunnels.slice(0, 2))
    const { receipts, marks } = await reading
    expect(idsOf(receipts)).toEqual(sent)
    expect(marks).toEqual([
      { kind: 'silent', replica: expect.stringMatching(/-[0-9a-f]{6}$/), time: expect.any(Number) },
    ])
  })

  it('marks a replica that has ended while nobody read', async () => {
    tunnels = tunnels.slice(0, 2)
    const { marks } = await read('gone-abc123:7', (_, all) => all.length > 0)
    expect(marks).toEqual([{ kind: 'ended', replica: 'gone-abc123', time: expect.any(Number) }])
  })

  it('tells nothing more to a reader who has signed out, and ends', async () => {
    let isWelcome = true
    let told = 0
    const { receipts } = await read(
      '',
      (all) => {
        if (isWelcome) void send(2)
        isWelcome = false
        told = all.length
        return false
      },
      () => isWelcome,
    )
    expect(receipts.length).toBe(told)
    expect(told).toBeGreaterThan(0)
  })
})
