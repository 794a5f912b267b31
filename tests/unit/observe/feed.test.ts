/** Feed of receipts: live, resumed without gap or duplicate, and bounded in memory. */

import { once } from 'node:events'
import { get, type IncomingMessage, type Server } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Receipt } from '../../../contract/admin-api.ts'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import { Feed } from '../../../tunnel/src/observe/feed.ts'
import { Receipts } from '../../../tunnel/src/observe/receipts.ts'
import { errorOf } from '../../support/envelopes.ts'
import { heldBytes } from '../../support/heap-usage.ts'
import { listen } from '../../support/listen.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { until } from '../../support/until.ts'

type Told = { id: string | undefined; event: string | undefined; data: { id?: string; missed?: number } }

describe('Feed', () => {
  const started = new AsyncDisposableStack()
  let tunnel: Tunnel

  beforeAll(async () => {
    tunnel = started.use(await openTunnel())
  })

  afterAll(() => started.disposeAsync())

  const send = () => post(tunnel.url, { body: errorOf(INBOX_DSN) })

  async function sendMany(count: number): Promise<void> {
    for (let sent = 0; sent < count; sent += 50)
      await Promise.all(Array.from({ length: Math.min(50, count - sent) }, send))
  }

  /** Reads the feed as EventSource does. `await using` closes it. */
  async function read(lastId?: string, from = tunnel) {
    const leaving = new AbortController()
    const headers = { authorization: `Bearer ${from.token}`, ...(lastId && { 'last-event-id': lastId }) }
    const response = await fetch(`${from.adminUrl}/receipts`, { headers, signal: leaving.signal })
    const told = eventsOf(response.body?.values() ?? []) // locked at once: fetch cancels an unlocked body when its response is collected
    return {
      status: response.status,
      contentType: response.headers.get('content-type'),
      async take(count: number): Promise<Told[]> {
        const taken: Told[] = []
        while (taken.length < count) {
          const { value, done } = await told.next()
          if (done) throw new Error('the feed ended')
          taken.push(value)
        }
        return taken
      },
      [Symbol.asyncDispose]: async () => leaving.abort(),
    }
  }

  /** Returns the sequence number in an event ID. */
  const numberOf = ({ id }: Told) => Number(id?.split(':').at(-1))

  it('sends each receipt when it is recorded', async () => {
    await using feed = await read()
    expect(feed.contentType).toContain('text/event-stream')
    await sendMany(3)
    const told = await feed.take(3)
    for (const { event, data } of told)
      expect({ event, data }).toMatchObject({
        event: 'receipt',
        data: { outcome: 'delivered', status: 200, items: [{ type: 'event' }], replica: expect.any(String) },
      })
    expect(new Set(told.map(({ data }) => data.id)).size).toBe(3)
  })

  it('sends the same events to all readers', async () => {
    await using one = await read()
    await using other = await read()
    await send()
    expect(await one.take(1)).toEqual(await other.take(1))
  })

  it('starts at the present for a new reader', async () => {
    await send()
    await using feed = await read()
    const { headers } = await send()
    const receipt = await (await tunnel.admin(`/receipts/${headers['x-culvert-receipt']}`)).json()
    expect((await feed.take(1))[0]?.data.id).toBe(receipt.id)
  })

  it('resumes after the last event of a reader, without gaps or duplicates', async () => {
    await using before = await read()
    await sendMany(5)
    const first = await before.take(2)
    await before[Symbol.asyncDispose]()
    await sendMany(5)
    await using after = await read(first[1]?.id)
    const rest = await after.take(8)
    const numbers = [...first, ...rest].map(numberOf)
    expect(numbers).toEqual(numbers.map((_, i) => (numbers[0] ?? 0) + i))
    expect(new Set([...first, ...rest].map(({ data }) => data.id)).size).toBe(10)
  })

  it('starts at the present for a reader with an ID of another replica, or with an invalid one', async () => {
    await sendMany(3)
    for (const lastId of [
      'another-replica:1',
      '1',
      ':',
      'x'.repeat(300),
      `${await replica()}:-1`,
      `${await replica()}:x`,
    ]) {
      await using feed = await read(lastId)
      const { headers } = await send()
      const receipt = await (await tunnel.admin(`/receipts/${headers['x-culvert-receipt']}`)).json()
      expect((await feed.take(1))[0]?.data.id).toBe(receipt.id)
    }
  })

  it('sends a gap with the number of missed receipts to a reader that was away too long', async () => {
    const { receipts, app } = serve()
    for (let n = 1; n <= 40_101; n++) receipts.record({ ...longReceipt(n), reason: 'short' })
    const response = await app.request('/receipts', { headers: { 'last-event-id': 'r:1' } })
    const told = eventsOf(response.body ?? [])
    expect((await told.next()).value).toMatchObject({ event: 'gap', data: { missed: 100 } })
    expect((await told.next()).value).toMatchObject({ event: 'receipt', id: 'r:102', data: { id: 'e102' } })
    await told.return(undefined)
  })

  it('starts with the requested number of newest receipts, without a gap before them', async () => {
    const { receipts, app } = serve()
    const firstOf = async (newest: number) => {
      const told = eventsOf((await app.request(`/receipts?newest=${newest}`)).body ?? [])
      const { value } = await told.next()
      await told.return(undefined)
      return [value?.event, value?.id]
    }
    for (let n = 1; n <= 5; n++) receipts.record({ ...longReceipt(n), reason: 'short' })
    expect([await firstOf(2), await firstOf(5), await firstOf(9)]).toEqual([
      ['receipt', 'r:4'],
      ['receipt', 'r:1'],
      ['receipt', 'r:1'],
    ])
    for (let n = 6; n <= 40_101; n++) receipts.record({ ...longReceipt(n), reason: 'short' })
    expect(await firstOf(50_000)).toEqual(['receipt', 'r:102'])
    for (const newest of ['-1', 'x', '1e3', ''])
      expect((await app.request(`/receipts?newest=${newest}`)).status).toBe(400)
  })

  it('returns the receipt of a token, and 404 for an unknown token', async () => {
    const { headers } = await send()
    const found = await tunnel.admin(`/receipts/${headers['x-culvert-receipt']}`)
    expect(await found.json()).toMatchObject({ outcome: 'delivered', status: 200 })
    for (const token of ['0'.repeat(32), 'x', '__proto__', '%00'])
      expect((await tunnel.admin(`/receipts/${token}`)).status).toBe(404)
  })

  it('sends final outcomes in one sequence with the receipts, also to a reader that resumes', async () => {
    await using sentry = await startSentry()
    await using own = await openTunnel({ env: { SENTRY_DSN: sentry.dsn() } })
    const newest = await read(undefined, own)
    await sentry.away()
    const { headers } = await post(own.url, { body: errorOf(sentry.dsn()) })
    const { id } = await (await own.admin(`/receipts/${headers['x-culvert-receipt']}`)).json()
    const [spooled] = await newest.take(1)
    expect(spooled).toMatchObject({ event: 'receipt', data: { id, outcome: 'spooled' } })
    await newest[Symbol.asyncDispose]()
    await sentry.back()
    own.advanceClock(10_000)
    await own.retry()
    await using later = await read(spooled?.id, own)
    const [end] = await later.take(1)
    expect(end).toMatchObject({
      event: 'final_outcome',
      data: { receipt: id, final_outcome: 'delivered', upstream_status: 200, waited_ms: expect.any(Number) },
    })
    await using again = await read(spooled?.id, own)
    expect(await again.take(1)).toEqual([end])
  })

  it('rejects the 101st reader until another one disconnects', async () => {
    await using own = await openTunnel()
    const readers = await Promise.all(Array.from({ length: 100 }, () => read(undefined, own)))
    const refused = await own.admin('/receipts')
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { detail: '100 read the feed already. Close some of them.' },
    ])
    await readers[0]?.[Symbol.asyncDispose]()
    await until(async () => {
      await using reader = await read(undefined, own)
      return reader.status === 200
    })
    for (const reader of readers) await reader[Symbol.asyncDispose]()
  })

  it('does not count HEAD requests as readers', async () => {
    const { app } = serve()
    for (let n = 0; n < 101; n++)
      expect((await app.request('/receipts', { method: 'HEAD' })).status).toBe(200)
    const response = await app.request('/receipts')
    expect(response.status).toBe(200)
    await response.body?.cancel()
  })

  it('buffers nothing for a reader that stops reading, and sends it a gap when it reads again', async () => {
    const { receipts, app } = serve()
    await using server = await listen(createAdaptorServer({ fetch: app.fetch }) as Server)
    const sleeper = get({ port: server.port, path: '/receipts' })
    const [response] = (await once(sleeper, 'response')) as [IncomingMessage]
    response.pause()
    const before = heldBytes()
    let settled = 0
    for (let step = 0; step < 10; step++) {
      for (let n = 0; n < 500; n++) receipts.record(longReceipt(++settled))
      await wait(120) // longer than the batching interval of the feed, so that it writes between the batches
    }
    expect(heldBytes() - before).toBeLessThan(20_000_000) // of 50 MB
    const told = await readUntil(response, ({ id }) => id === `r:${settled}`)
    const gaps = told.filter(({ event }) => event === 'gap')
    const heard = told.length - gaps.length
    const missed = gaps.reduce((sum, { data }) => sum + (data.missed ?? 0), 0)
    expect(gaps).not.toEqual([])
    expect(heard + missed).toBe(settled)
    expect(told.at(-1)?.data.id).toBe(`e${settled}`)
    sleeper.destroy()
  })

  it('does not delay the stop of the tunnel by a reader that does not read', async () => {
    const own = await openTunnel()
    const sleeper = connect({ port: Number(new URL(own.adminUrl).port), host: '127.0.0.1' })
    await once(sleeper, 'connect')
    sleeper.on('error', () => {}).pause()
    sleeper.write(`GET /receipts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${own.token}\r\n\r\n`)
    for (let n = 0; n < 20; n++) expect((await post(own.url, { body: errorOf(INBOX_DSN) })).status).toBe(200)
    await own.stop()
    sleeper.destroy()
  })

  const replica = async (): Promise<string> => (await (await tunnel.admin('/status')).json()).replica
})

/** Serves the feed of replica `r` without a tunnel. */
function serve() {
  const receipts = new Receipts(NO_METRICS, { recordEvent: () => {} }, Date.now)
  const feed = new Feed(receipts, 'r')
  return { receipts, app: new Hono().get('/receipts', (c) => feed.stream(c)) }
}

const NO_METRICS = { count: () => {}, countFinalOutcome: () => {}, expose: async () => '' }
const LONG = 'x'.repeat(10_000)

function longReceipt(number: number): Receipt {
  const verdict = { outcome: 'rejected', reason: LONG, status: 400 } as const
  return { id: `e${number}`, time: 0, items: [], bytes: 1, duration_ms: 1, replica: 'r', ...verdict }
}

async function readUntil(body: AsyncIterable<Uint8Array>, isLast: (told: Told) => boolean): Promise<Told[]> {
  const all: Told[] = []
  for await (const told of eventsOf(body)) {
    all.push(told)
    if (isLast(told)) break
  }
  return all
}

async function* eventsOf(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Told> {
  let text = ''
  for await (const chunk of body) {
    text += Buffer.from(chunk)
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) if (!block.startsWith(':')) yield parseEvent(block)
  }
}

function parseEvent(block: string): Told {
  const fields = new Map(
    block
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  )
  return { id: fields.get('id'), event: fields.get('event'), data: JSON.parse(fields.get('data') ?? '{}') }
}
