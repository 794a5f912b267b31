/** Limits of nginx for one client address on the tunnel paths: four times the limits of a tunnel. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type ClientRequest, request } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CATEGORY_NAMES } from '../../../contract/categories.ts'
import { formatRateLimits, THROTTLE_SECONDS } from '../../../contract/rate-limits.ts'
import { expectRejection } from '../../support/nginx/expected-rejection.ts'
import { type Nginx, startNginx } from '../../support/nginx/nginx.ts'
import { type Answered, post } from '../../support/post.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'

const RATE = 3
const BURST = 10 * RATE
const CONNECTIONS = 50
const CAUSES = [
  'This client address exceeds the request rate or the number of concurrent requests that nginx allows.',
]

// All categories are named, since nginx has not read the envelope: a 429 without categories silences an SDK.
const SCOPED = formatRateLimits([{ seconds: THROTTLE_SECONDS, categories: [...CATEGORY_NAMES] }], 'nginx')

describe('On the tunnel paths nginx', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let nginx: Nginx
  let tunnel: Upstream

  beforeAll(async () => {
    tunnel = started.use(await startUpstream('tunnel'))
    const web = started.use(await startUpstream('web'))
    nginx = started.use(
      await startNginx({
        tunnels: [tunnel.address],
        web: web.address,
        env: { ADDRESS_RATE: String(RATE), TRUSTED_PROXIES: '127.0.0.1' },
      }),
    )
  })

  afterAll(() => started.disposeAsync())

  /** Posts one envelope of a visitor at that address, as a trusted proxy forwards it. */
  const send = (address: string, path = '/monitoring') =>
    post(nginx.url, { path, headers: { 'x-forwarded-for': address }, body: 'envelope' })

  /** Posts until a request is rejected. Fails after `most` requests. */
  async function untilRejected(address: string, most = 20): Promise<{ passed: number; answer: Answered }> {
    for (let passed = 0; passed < 4 * BURST * most; passed++) {
      const answer = await send(address, `/monitoring?p=${passed}`)
      if (answer.status !== 200) return { passed, answer }
    }
    throw new Error(`nothing of ${address} was refused`)
  }

  it('accepts four times the burst of the tunnel from one address, then returns 429 with the limited categories', async () => {
    const { passed, answer } = await untilRejected('203.0.113.1')
    expect(passed).toBeGreaterThanOrEqual(4 * BURST)
    expectRejection(answer, 'throttled', CAUSES)
    expect(answer.headers['x-sentry-rate-limits']).toBe(SCOPED)
    expect((await send('203.0.113.2')).status).toBe(200)
  })

  it('does not count requests to web', async () => {
    await untilRejected('203.0.113.3')
    const page = { path: '/', method: 'GET', headers: { 'x-forwarded-for': '203.0.113.3' } } as const
    for (let i = 0; i < 4 * BURST; i++) expect((await post(nginx.url, page)).status).toBe(200)
  })

  it('counts an IPv6 /64 as one address, and an IPv4-mapped address as its IPv4 address', async () => {
    await using _all = await hold('2001:db8:1:2::1', CONNECTIONS)
    expect((await send('2001:db8:1:2:ffff::9')).status).toBe(429)
    expect((await send('2001:db8:1:3::1')).status).toBe(200)

    await using _others = await hold('203.0.113.4', CONNECTIONS)
    expect((await send('::ffff:203.0.113.4')).status).toBe(429)
    expect((await send('::ffff:203.0.113.5')).status).toBe(200)
  })

  it('counts an address of NAT64 as the IPv4 address inside', async () => {
    await using _all = await hold('64:ff9b::203.0.113.21', CONNECTIONS)
    expect((await send('203.0.113.21')).status).toBe(429)
    expect((await send('64:ff9b::203.0.113.22')).status).toBe(200)
  })

  it('accepts 50 concurrent requests of one address, and returns 429 with the limited categories for the 51st', async () => {
    await using _all = await hold('203.0.113.6', CONNECTIONS)
    const answer = await send('203.0.113.6')
    expectRejection(answer, 'throttled', CAUSES)
    expect(answer.headers['x-sentry-rate-limits']).toBe(SCOPED)
  })

  it('receives complete bodies and applies the limits while 2,000 requests are open', async () => {
    await using _crowd = await stopInTheMiddle(2_000)
    const envelope = randomBytes(100_000)
    expect((await post(nginx.url, { body: envelope })).status).toBe(200)
    expect(tunnel.asked.at(-1)?.body.equals(envelope)).toBe(true)
    expectRejection((await untilRejected('203.0.113.8')).answer, 'throttled', CAUSES)
  })

  it.each([
    '10.1.2.3',
    '100.64.1.1',
    '169.254.1.1',
    '172.31.1.1',
    '192.168.1.1',
    'fd00::1',
    'fe80::1',
    '64:ff9b::10.1.2.3',
  ])('does not count the private address %s', async (address) => {
    await using _many = await hold(address, CONNECTIONS + 5)
    expect((await send(address)).status).toBe(200)
  })

  /** Opens posts of one address whose bodies do not arrive. Disposal ends them. */
  async function hold(address: string, count: number) {
    const open = await Promise.all(Array.from({ length: count }, () => openPost(nginx.port, address)))
    return {
      async [Symbol.asyncDispose]() {
        const answers = open.map(async (one) => {
          const [response] = await once(one.end('envelope'), 'response')
          response.resume()
          await once(response, 'end')
        })
        await Promise.all(answers)
      },
    }
  }

  /** Opens posts of different addresses, each with one byte of its body. */
  async function stopInTheMiddle(count: number) {
    const sockets = Array.from({ length: count }, () =>
      connect(nginx.port, '127.0.0.1').on('error', () => {}),
    )
    await Promise.all(
      sockets.map(
        (socket) =>
          new Promise((resolve) =>
            socket.write(
              'POST /monitoring HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 8\r\n\r\ne',
              resolve,
            ),
          ),
      ),
    )
    return {
      async [Symbol.asyncDispose]() {
        for (const socket of sockets) socket.destroy()
      },
    }
  }
})

/** Resolves when nginx has accepted the headers and waits for the body. */
async function openPost(port: number, address: string): Promise<ClientRequest> {
  const headers = { 'x-forwarded-for': address, expect: '100-continue', 'content-length': 8 }
  const open = request({ port, host: '127.0.0.1', path: '/monitoring', method: 'POST', headers })
  open.flushHeaders()
  await once(open, 'continue')
  return open
}
