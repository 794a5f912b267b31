/** Live feed of the console: the receipts of all replicas, resumed after the last event of the reader. */

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Receipt, SpoolOutcome } from '../../../contract/admin-api.ts'
import { readCursor } from '../../../web/features/console/live-feed/cursor.ts'
import { streamFeed } from '../../../web/features/console/live-feed/feed.ts'
import type { FeedNotice } from '../../../web/features/console/live-feed/feed-rows.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
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

const newError = (dsn: string) => errorOf(dsn, { event_id: randomUUID().replaceAll('-', '') })

/** Reads from a cursor until `enough`. Returns the events and the new cursor. */
async function read(
  after: string,
  enough: (receipts: Receipt[], notices: FeedNotice[], finalOutcomes: SpoolOutcome[]) => boolean,
  { isSignedIn = (): boolean => true, from = tunnels } = {},
) {
  const stream = streamFeed(
    {
      origins: async () => from.map(({ adminUrl }) => adminUrl),
      nameOf: async (origin) => (await (await ask(origin, '/status')).json()).replica,
      ask: (url, init) => ask(url, '', init),
      isSignedIn,
      now: Date.now,
    },
    readCursor(after),
  )
  const texts = stream as ReadableStream<BufferSource>
  const events = texts.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  const [receipts, notices, finalOutcomes]: [Receipt[], FeedNotice[], SpoolOutcome[]] = [[], [], []]
  let cursor = after
  for await (const { id, data } of events) {
    const told = JSON.parse(data)
    receipts.push(...told.receipts)
    notices.push(...told.notices)
    finalOutcomes.push(...told.finalOutcomes)
    cursor = id ?? cursor
    if (enough(receipts, notices, finalOutcomes)) break
  }
  return { receipts, notices, finalOutcomes, cursor }
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

  it('sends a notice that a killed replica does not respond, and the receipts of the others meanwhile', async () => {
    const { cursor } = await read('', (all) => all.length >= 31)
    const third = tunnels[2] as Tunnel
    let isRead = () => {}
    const beingRead = new Promise<void>((resolve) => {
      isRead = resolve
    })
    const reading = read(cursor, (all, notices) => {
      if (all.length > 0) isRead()
      return all.length >= 3 && notices.length > 0
    })
    const before = await send(1, [third])
    await beingRead
    await third.kill()
    const sent = await send(1, tunnels.slice(0, 2))
    const { receipts, notices } = await reading
    expect(idsOf(receipts)).toEqual([...before, ...sent].sort())
    expect(notices).toEqual([
      { kind: 'unresponsive', replica: expect.stringMatching(/-[0-9a-f]{6}$/), time: expect.any(Number) },
    ])
  })

  it('sends a notice of a replica that stopped while there was no reader', async () => {
    tunnels = tunnels.slice(0, 2)
    const { notices } = await read('gone-abc123:7', (_, all) => all.length > 0)
    expect(notices).toEqual([{ kind: 'stopped', replica: 'gone-abc123', time: expect.any(Number) }])
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
      { isSignedIn: () => isSignedIn },
    )
    expect(receipts.length).toBe(told)
    expect(told).toBeGreaterThan(0)
  })

  it('sends the final outcome of each spooled envelope from any replica once, also over a reconnection', async () => {
    await using folder = await makeFolder()
    await using sentry = await startSentry()
    const env = {
      SENTRY_DSN: sentry.dsn(),
      SPOOL_URL: pathToFileURL(join(folder.path, 'spool.db')).href,
    }
    await using one = await startTunnel({ env })
    await using other = await startTunnel({ env })
    const from = [one, other]
    await sentry.away()
    for (let n = 0; n < 6; n++)
      expect((await post(from[n % 2]?.url ?? '', { body: newError(sentry.dsn()) })).outcome).toBe('spooled')
    const before = await read('', (all) => all.length >= 6, { from })
    expect(before.receipts.map(({ outcome: answer }) => answer)).toEqual(Array(6).fill('spooled'))
    expect(before.finalOutcomes).toEqual([])
    await sentry.back()
    const spooled = new Set(before.receipts.map(({ id }) => id))
    const endsOfThem = (told: SpoolOutcome[]) => told.filter(({ receipt }) => spooled.has(receipt))
    const first = await read(before.cursor, (_, __, told) => told.length >= 3, { from })
    await post(one.url, { body: newError(sentry.dsn()) }) // a notice may arrive after all final outcomes; it may also be spooled
    const rest = await read(
      first.cursor,
      (all, _, told) => all.length > 0 && endsOfThem(told).length >= 6 - first.finalOutcomes.length,
      { from },
    )
    const finalOutcomes = endsOfThem([...first.finalOutcomes, ...rest.finalOutcomes])
    expect(finalOutcomes.map(({ receipt }) => receipt).sort()).toEqual([...spooled].sort())
    expect(finalOutcomes.map(({ final_outcome: end }) => end)).toEqual(Array(6).fill('delivered'))
    const again = await read(before.cursor, (_, __, all) => all.length >= 6, { from })
    expect(again.finalOutcomes).toEqual(expect.arrayContaining(finalOutcomes))
    expect([...first.notices, ...rest.notices, ...again.notices]).toEqual([])
  })
})
