/** Live feed of the console: the receipts of all replicas, resumed after the last event of the reader. */

import { randomUUID } from 'node:crypto'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Receipt } from '../../../contract/admin-api.ts'
import { readCursor } from '../../../web/features/console/live-feed/cursor.ts'
import { streamFeed } from '../../../web/features/console/live-feed/feed.ts'
import type { FeedNotice } from '../../../web/features/console/live-feed/feed-rows.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'

const DSN = 'https://culvert@inbox.invalid/1'
const started = new AsyncDisposableStack()
let tunnels: Tunnel[]

beforeAll(async () => {
  tunnels = await Promise.all([1, 2, 3].map(async () => started.use(await startTunnel())))
})

afterAll(() => started.disposeAsync())

/** Posts `count` errors to each of the tunnels, and returns their event IDs. */
async function send(many: number, to = tunnels): Promise<string[]> {
  const ids = Array.from({ length: many * to.length }, () => randomUUID().replaceAll('-', ''))
  for (const [index, id] of ids.entries()) {
    const { status } = await post(to[index % to.length]?.url ?? '', { body: errorOf(DSN, { event_id: id }) })
    expect(status).toBe(200)
  }
  return ids.sort()
}

/** Reads from a cursor until `enough`. Returns the events and the new cursor. */
async function read(
  after: string,
  enough: (receipts: Receipt[]) => boolean,
  isSignedIn = async (): Promise<boolean> => true,
) {
  const stream = streamFeed(
    {
      origins: async () => tunnels.map(({ adminUrl }) => adminUrl),
      nameOf: async (origin) => (await (await ask(origin, '/status')).json()).replica,
      ask: (url, init) => ask(url, '', init),
      isSignedIn,
      now: Date.now,
    },
    readCursor(after),
  )
  const texts = stream as ReadableStream<BufferSource>
  const events = texts.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  const receipts: Receipt[] = []
  const notices: FeedNotice[] = []
  let cursor = after
  for await (const { id, data } of events) {
    const told = JSON.parse(data)
    receipts.push(...told.receipts)
    notices.push(...told.notices)
    cursor = id ?? cursor
    if (enough(receipts)) break
  }
  return { receipts, notices, cursor }
}

function ask(origin: string, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = {
    authorization: `Bearer ${tunnels[0]?.token}`,
    ...(init.headers as Record<string, string>),
  }
  return fetch(origin + path, { ...init, headers })
}

const idsOf = (receipts: Receipt[]) => receipts.map(({ event_id: eventId }) => eventId).sort()

describe('The live feed of the console', () => {
  it('sends the stored receipts of all replicas, then the new ones, each once, over any number of reconnections', async () => {
    const sent = await send(4)
    let { receipts, cursor } = await read('', (all) => all.length >= 12)
    expect(idsOf(receipts)).toEqual(sent)
    for (let breaks = 0; breaks < 3; breaks++) {
      const meanwhile = await send(2)
      const next = await read(cursor, (all) => all.length >= 6)
      expect(idsOf(next.receipts)).toEqual(meanwhile)
      expect(next.notices).toEqual([])
      cursor = next.cursor
      receipts = [...receipts, ...next.receipts]
    }
    expect(new Set(receipts.map(({ id }) => id)).size).toBe(30)
    const again = read(cursor, (all) => all.length > 0)
    const last = await send(1, tunnels.slice(0, 1))
    expect(idsOf((await again).receipts)).toEqual(last)
  })

  it('ends after sign-out', async () => {
    let isSignedIn = true
    let told = 0
    const { receipts } = await read(
      '',
      (all) => {
        if (isSignedIn) void send(2)
        isSignedIn = false
        told = all.length
        return false
      },
      async () => isSignedIn,
    )
    expect(receipts.length).toBe(told)
    expect(told).toBeGreaterThan(0)
  })
})
