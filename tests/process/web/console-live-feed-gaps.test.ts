/** Gaps in the live feed: each gap is sent, and no event is sent twice. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { describe, expect, it } from 'vitest'
import type { Receipt } from '../../../contract/admin-api.ts'
import { freePort } from '../../../scripts/start/free-port.ts'
import { readCursor } from '../../../web/features/console/live-feed/cursor.ts'
import { streamFeed } from '../../../web/features/console/live-feed/feed.ts'
import {
  type FeedEvent,
  type FeedNotice,
  FeedRows,
  MAX_ROWS,
} from '../../../web/features/console/live-feed/feed-rows.ts'
import { startFakeTunnel } from '../../support/tunnel/fake-admin-port.ts'

const receiptOf = (id: string, time: number): Receipt => ({
  ...{ id, time, items: [], bytes: 1, outcome: 'delivered', status: 200, duration_ms: 1, replica: 'live' },
})

/** Responds with these events, and keeps the stream open while it is read. */
function streams(...events: string[]) {
  return (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`: welcome\n\n${events.join('')}`)
  }
}

const sayReceipt = (replica: string, number: number, time = number) =>
  `event: receipt\ndata: ${JSON.stringify(receiptOf(`${replica}-${number}`, time))}\nid: ${replica}:${number}\n\n`

/** Yields the events of the feed from a cursor on. */
async function* read(
  after: string,
  origins: () => string[],
  isSignedIn = () => true,
): AsyncGenerator<FeedEvent & { cursor: string }> {
  const stream = streamFeed(
    {
      origins: async () => origins(),
      nameOf: async (origin) => (await (await fetch(`${origin}/status`)).json()).replica,
      ask: fetch,
      isSignedIn: async () => isSignedIn(),
      now: Date.now,
    },
    readCursor(after),
  ) as ReadableStream<BufferSource>
  const events = stream.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  for await (const { id = '', data } of events) yield { ...JSON.parse(data), cursor: id }
}

const kindsOf = (notices: FeedNotice[]) => notices.map(({ kind, replica }) => `${kind} ${replica}`)

describe('The merged live feed', () => {
  it('sends a notice that a replica does not respond, and that it stopped when another one has its address', async () => {
    await using live = await startFakeTunnel('live', { 'GET /receipts': streams() })
    const port = await freePort()
    const notices: FeedNotice[] = []
    let other: AsyncDisposable | undefined
    for await (const told of read('live:1,dead:7', () => [live.adminUrl, `http://127.0.0.1:${port}`])) {
      notices.push(...told.notices)
      if (notices.length === 2) break
      other ??= await startFakeTunnel('other', { 'GET /receipts': streams() }, { port })
    }
    await other?.[Symbol.asyncDispose]()
    expect(kindsOf(notices)).toEqual(['unresponsive dead', 'stopped dead'])
  })

  it('sends a notice of a replica that stopped while there was no reader', async () => {
    await using live = await startFakeTunnel('live', { 'GET /receipts': streams() })
    for await (const { notices } of read('gone:7', () => [live.adminUrl])) {
      if (notices.length === 0) continue
      expect(kindsOf(notices)).toEqual(['stopped gone'])
      break
    }
  })

  it('sends a notice when such a replica responds again, and resumes after the last event of the reader', async () => {
    const port = await freePort()
    const notices: FeedNotice[] = []
    const lastIds: unknown[] = []
    let cursor: string | undefined
    let late: AsyncDisposable | undefined
    for await (const told of read('late:7', () => [`http://127.0.0.1:${port}`])) {
      notices.push(...told.notices)
      cursor = told.cursor
      if (told.receipts.length > 0) break
      late ??= await startFakeTunnel(
        'late',
        {
          'GET /receipts': (request, response) => {
            lastIds.push(request.headers['last-event-id'])
            streams(sayReceipt('late', 8))(request, response)
          },
        },
        { port },
      )
    }
    await late?.[Symbol.asyncDispose]()
    expect(kindsOf(notices)).toEqual(['unresponsive late', 'recovered late'])
    expect(lastIds).toEqual(['late:7'])
    expect(cursor).toBe('late:8')
  })

  it('sends no event twice when no tunnel is found for a moment', async () => {
    const urls: (string | undefined)[] = []
    await using live = await startFakeTunnel('live', {
      'GET /receipts': (request, response) => {
        const last = request.headers['last-event-id']
        urls.push(`${request.url} ${last ?? ''}`)
        const answer = last === 'live:2' ? [sayReceipt('live', 3)] : [1, 2].map((n) => sayReceipt('live', n))
        streams(...answer)(request, response)
      },
    })
    let found = [live.adminUrl]
    const [ids, notices, cursors]: [string[], FeedNotice[], string[]] = [[], [], []]
    for await (const told of read('', () => found)) {
      ids.push(...told.receipts.map(({ id }) => id))
      notices.push(...told.notices)
      cursors.push(told.cursor)
      if (ids.length > 2) break
      found = ids.length === 2 && notices.length === 0 ? [] : [live.adminUrl]
    }
    expect(ids).toEqual(['live-1', 'live-2', 'live-3'])
    expect(kindsOf(notices)).toEqual(['stopped live', 'recovered live'])
    expect(urls).toEqual([`/receipts?newest=${MAX_ROWS} `, '/receipts live:2'])
    expect(cursors).toContain('') // no reader connects to a replica that counts as stopped
    expect(cursors.at(-1)).toBe('live:3')
  })

  it('ends after sign-out, without another event', async () => {
    await using live = await startFakeTunnel('live', {
      'GET /receipts': (request, response) => {
        streams(sayReceipt('live', 1))(request, response)
        response.once('close', () => clearInterval(more))
        const more = setInterval(() => response.write(sayReceipt('live', 2)), 50)
      },
    })
    let isSignedIn = true
    let many = 0
    for await (const { receipts } of read(
      '',
      () => [live.adminUrl],
      () => isSignedIn,
    )) {
      many += receipts.length
      expect(isSignedIn).toBe(true)
      isSignedIn = many === 0
    }
    expect(many).toBeGreaterThan(0)
  })

  it('dates a gap by the receipt after it, and places it below that receipt', async () => {
    const gap = `event: gap\ndata: ${JSON.stringify({ missed: 5, replica: 'live' })}\n\n`
    await using live = await startFakeTunnel('live', {
      'GET /receipts': streams(gap, sayReceipt('live', 7, 7_000), sayReceipt('live', 8, 8_000)),
    })
    const rows = new FeedRows()
    for await (const told of read('live:1', () => [live.adminUrl])) {
      rows.add(told)
      if (rows.all().length === 3) break
    }
    expect(rows.all().map((row) => ('notice' in row ? row.notice : row.receipt.id))).toEqual([
      'live-8',
      'live-7',
      { kind: 'missed', replica: 'live', missed: 5, time: 7_000 },
    ])
  })

  it('starts with the newest receipts that a page shows, divided between the tunnels', async () => {
    await using one = await startFakeTunnel('one', { 'GET /receipts': streams(sayReceipt('one', 1)) })
    await using other = await startFakeTunnel('other', { 'GET /receipts': streams(sayReceipt('other', 1)) })
    let many = 0
    for await (const told of read('', () => [one.adminUrl, other.adminUrl])) {
      many += told.receipts.length
      if (many === 2) break
    }
    for (const { asked } of [one, other])
      expect(asked.filter((path) => path.includes('receipts'))).toEqual([
        `GET /receipts?newest=${MAX_ROWS / 2}`,
      ])
  })
})
