/** The feed of receipts: live, resumed without gap or duplicate, and no burden to the tunnel. */

import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../tunnel/src/dsn.ts'
import { envelopeOf, errorOf } from '../helpers/envelopes.ts'
import { post } from '../helpers/post.ts'
import { startTunnel, type Tunnel } from '../helpers/tunnel.ts'

type Told = { id: string | undefined; event: string | undefined; data: { id?: string; missed?: number } }

/** Its receipt is 80 KB long. */
const MANY_ITEMS = envelopeOf(
  { dsn: INBOX_DSN },
  Array.from({ length: 900 }, () => ({ header: { type: 'x'.repeat(64) }, payload: '' })),
)

describe('The feed', () => {
  const started = new AsyncDisposableStack()
  let tunnel: Tunnel

  beforeAll(async () => {
    tunnel = started.use(await startTunnel())
  })

  afterAll(() => started.disposeAsync())

  const send = () => post(tunnel.url, { body: errorOf(INBOX_DSN) })

  async function sendMany(count: number): Promise<void> {
    for (let sent = 0; sent < count; sent += 50)
      await Promise.all(Array.from({ length: Math.min(50, count - sent) }, send))
  }

  /** Reads as EventSource does. `await using` ends it. */
  async function read(lastId?: string) {
    const leaving = new AbortController()
    const headers = { authorization: `Bearer ${tunnel.token}`, ...(lastId && { 'last-event-id': lastId }) }
    const response = await fetch(`${tunnel.adminUrl}/receipts`, { headers, signal: leaving.signal })
    const told = eventsOf(response)
    return {
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

  /** The number that an event bears behind the replica's name. */
  const numberOf = ({ id }: Told) => Number(id?.split(':').at(-1))

  it('tells each receipt as it is settled', async () => {
    await using feed = await read()
    expect(feed.contentType).toContain('text/event-stream')
    await sendMany(3)
    const told = await feed.take(3)
    for (const { event, data } of told)
      expect({ event, data }).toMatchObject({
        event: 'receipt',
        data: { answer: 'delivered', status: 200, items: [{ type: 'event' }], replica: expect.any(String) },
      })
    expect(new Set(told.map(({ data }) => data.id)).size).toBe(3)
  })

  it('tells several readers the same', async () => {
    await using one = await read()
    await using other = await read()
    await send()
    expect(await one.take(1)).toEqual(await other.take(1))
  })

  it('begins now for a reader who knows nothing yet', async () => {
    await send()
    await using feed = await read()
    const { headers } = await send()
    const receipt = await (await tunnel.admin(`/receipts/${headers['x-culvert-receipt']}`)).json()
    expect((await feed.take(1))[0]?.data.id).toBe(receipt.id)
  })

  it('goes on where a reader left it, with nothing missing and nothing twice', async () => {
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

  it('begins now for a reader who comes from another replica, or brings nonsense', async () => {
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

  it('tells a reader who was away too long how many are missing', async () => {
    await using before = await read()
    await send()
    const [last] = await before.take(1)
    await before[Symbol.asyncDispose]()
    await sendMany(2_100)
    await using after = await read(last?.id)
    const [gap, next] = await after.take(2)
    expect(gap).toMatchObject({ event: 'gap', data: { missed: 100 } })
    expect(next && last && numberOf(next) - numberOf(last)).toBe(101)
  })

  it('lets a visitor look up the one receipt of a token, and nothing by an unknown one', async () => {
    const { headers } = await send()
    const found = await tunnel.admin(`/receipts/${headers['x-culvert-receipt']}`)
    expect(await found.json()).toMatchObject({ answer: 'delivered', status: 200 })
    for (const token of ['0'.repeat(32), 'x', '__proto__', '%00'])
      expect((await tunnel.admin(`/receipts/${token}`)).status).toBe(404)
  })

  it('of a reader who sleeps keeps neither the tunnel from answering nor from leaving', async () => {
    await using own = await startTunnel()
    const sleeper = connect({ port: Number(new URL(own.adminUrl).port), host: '127.0.0.1' })
    await once(sleeper, 'connect')
    sleeper.on('error', () => {}).pause()
    sleeper.write(`GET /receipts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${own.token}\r\n\r\n`)
    // Far more than the sockets between them hold.
    for (let i = 0; i < 20; i++) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => post(own.url, { body: MANY_ITEMS })))
      expect(answers.every(({ status }) => status === 200)).toBe(true)
    }
    await own.stop()
    sleeper.destroy()
  })

  const replica = async (): Promise<string> => (await (await tunnel.admin('/status')).json()).replica
})

async function* eventsOf(response: Response): AsyncGenerator<Told> {
  let text = ''
  for await (const chunk of response.body ?? []) {
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
