/** Routes of nginx, and the headers that it adds and removes. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Nginx, startNginx } from '../../support/nginx/nginx.ts'
import { post } from '../../support/post.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'
import { until } from '../../support/until.ts'

const MAX = 4 * 1024 * 1024 // 4 MiB

describe('nginx', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let tunnel: Upstream
  let web: Upstream
  let nginx: Nginx
  let upgrades = 0

  beforeAll(async () => {
    tunnel = started.use(await startUpstream('tunnel'))
    web = started.use(await startUpstream('web', answerAsWeb))
    nginx = started.use(
      await startNginx({
        tunnels: [tunnel.address],
        web: web.address,
        env: {
          TUNNEL_PATHS: '/monitoring|/errors/in-here',
          MAX_ENVELOPE_BYTES: String(MAX),
          TRUSTED_PROXIES: '127.0.0.2/31 2001:db8::/32',
        },
      }),
    )
    web.server.on('upgrade', () => upgrades++) // without a response, as Next.js does
  })

  afterAll(() => started.disposeAsync())

  beforeEach(() => {
    tunnel.asked.length = 0
    web.asked.length = 0
  })

  it.each([
    '/monitoring',
    '/monitoring/',
    '/monitoring?p=456&o=123&r=us',
    '/monitoring/?p=456',
    '/errors/in-here',
    '/errors/in-here/',
  ])('sends %s to the tunnel with its path unmodified', async (path) => {
    const answer = await post(nginx.url, { path, body: 'envelope' })
    expect([answer.status, answer.text]).toEqual([200, 'tunnel'])
    expect(tunnel.asked).toMatchObject([{ method: 'POST', url: path, body: Buffer.from('envelope') }])
  })

  it.each([
    ...'/ /monitoring//x /monitorings /monitoring/more /Monitoring'.split(' '),
    ...'/a/monitoring /monitoring%0A /errors /errors/in-here/x'.split(' '),
    ...'/7y54ph /metrics /.env'.split(' '),
  ])('sends %s to web with its path unmodified', async (path) => {
    const answer = await post(nginx.url, { path, method: 'GET' })
    expect([answer.status, answer.text]).toEqual([200, 'web'])
    expect(web.asked).toMatchObject([{ method: 'GET', url: path }])
  })

  it('returns 404 for the path of its own responses', async () => {
    expect((await post(nginx.url, { path: '/.malformed', method: 'GET' })).status).toBe(404)
    expect([...web.asked, ...tunnel.asked]).toEqual([])
  })

  it('compresses pages, and only for browsers that accept it', async () => {
    const page = { path: '/large', method: 'GET' } as const
    const { headers } = await post(nginx.url, { ...page, headers: { 'accept-encoding': 'gzip, br' } })
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' })
    expect((await post(nginx.url, page)).headers).not.toHaveProperty('content-encoding')
  })

  it('caches static files of web, and serves them from its cache', async () => {
    const file = { path: '/console/_next/static/chunks/a-1f.js?dpl=1', method: 'GET' } as const
    const first = await post(nginx.url, file)
    const again = await post(nginx.url, { ...file, path: '/console/_next/static/chunks/a-1f.js' })
    expect([first.text, again.text]).toEqual(['web', 'web'])
    expect(again.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect(web.asked).toHaveLength(1)
  })

  it('does not cache responses that are not immutable', async () => {
    for (const path of ['/', '/', '/console/_next/static/gone.js', '/console/_next/static/gone.js'])
      await post(nginx.url, { path, method: 'GET' })
    expect(web.asked).toHaveLength(4)
  })

  it('removes credentials and forged headers before the tunnel', async () => {
    const forged = {
      cookie: 'session=1',
      authorization: 'Bearer 1',
      'x-sentry-auth': 'Sentry sentry_key=1',
      'x-forwarded-for': '192.0.2.1, 192.0.2.2',
      'x-request-id': 'mine',
    }
    await post(nginx.url, { headers: { ...forged, origin: 'http://shop.example' } })
    const { headers } = tunnel.asked[0] ?? { headers: {} }
    expect(JSON.stringify(headers)).not.toMatch(/192\.0\.2|session|Bearer|sentry_key|mine/)
    expect(headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1', origin: 'http://shop.example' })
  })

  it('accepts reports of web at an internal port, and sends them without a client address', async () => {
    const headers = { 'x-forwarded-for': '192.0.2.1' }
    const answer = await post(nginx.innerUrl, { path: '/monitoring?p=1', body: 'envelope', headers })
    expect([answer.status, answer.text]).toEqual([200, 'tunnel'])
    expect(tunnel.asked).toMatchObject([{ url: '/monitoring?p=1', body: Buffer.from('envelope') }])
    expect(JSON.stringify(tunnel.asked[0]?.headers)).not.toMatch(/forwarded-for|192\.0\.2/)
  })

  it('marks requests of the internal port, and passes on only the name of the SDK from X-Sentry-Auth', async () => {
    const auth = 'Sentry sentry_version=7, sentry_client=sentry-old.ruby/1.2, sentry_key=1, sentry_secret=2'
    const headers = { 'x-sentry-auth': auth, 'x-culvert-inner': 'forged' }
    await post(nginx.innerUrl, { path: '/monitoring', body: 'envelope', headers })
    await post(nginx.url, { path: '/monitoring', body: 'envelope', headers })
    const [inner, outer] = tunnel.asked
    expect(inner?.headers['x-culvert-inner']).toBe('1')
    expect(outer?.headers).not.toHaveProperty('x-culvert-inner')
    for (const request of tunnel.asked)
      expect(request.headers['x-sentry-auth']).toBe('Sentry sentry_client=sentry-old.ruby/1.2')
  })

  it('serves no page at the internal port', async () => {
    for (const path of ['/', '/console', '/console/_next/static/main.js'])
      expect((await post(nginx.innerUrl, { path, method: 'GET' })).status).toBe(404)
    expect(web.asked).toEqual([])
  })

  it('sends web the client address, the host and the trace, and no forged values', async () => {
    const headers = {
      host: 'shop.example:8080',
      cookie: 'session=1',
      'sentry-trace': 'trace',
      baggage: 'sentry-environment=x',
      'x-forwarded-for': '192.0.2.1',
      'x-forwarded-host': 'other.example',
      'x-forwarded-proto': 'https',
    }
    await post(nginx.url, { path: '/', method: 'GET', headers })
    expect(web.asked[0]?.headers).toMatchObject({
      ...headers,
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': 'shop.example:8080',
      'x-forwarded-proto': 'http',
    })
  })

  it('uses the last address before a trusted proxy as the client address', async () => {
    const headers = {
      'x-forwarded-for': '198.51.100.1, 203.0.113.7, 127.0.0.3',
      'x-forwarded-proto': 'https',
    }
    for (const path of ['/', '/monitoring']) await get(nginx.port, path, headers, '127.0.0.2')
    for (const { asked } of [web, tunnel]) expect(asked[0]?.headers['x-forwarded-for']).toBe('203.0.113.7')
    expect(web.asked[0]?.headers['x-forwarded-proto']).toBe('https')
  })

  it('creates a request ID, and sends it to upstream, client and log', async () => {
    const answers = [await post(nginx.url, {}), await post(nginx.url, { path: '/', method: 'GET' })]
    const ids = answers.map(({ headers }) => headers['x-request-id'])
    expect(ids).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^[0-9a-f]{32}$/)])
    expect(ids).toEqual([tunnel, web].map(({ asked }) => asked[0]?.headers['x-request-id']))
    await vi.waitFor(
      () => expect(nginx.logged().map((line) => line.request_id)).toEqual(expect.arrayContaining(ids)),
      { timeout: 60_000 },
    )
  })

  it('logs JSON without the query', async () => {
    await get(nginx.port, '/a"b\\%ff?token=secret', {}, '127.0.0.9')
    await vi.waitFor(
      () =>
        expect(nginx.logged().at(-1)).toMatchObject({
          client: '127.0.0.9',
          method: 'GET',
          path: '/a"b\\%ff',
          status: 200,
          duration_s: expect.any(Number),
          upstream: web.address,
          upstream_status: '200',
          upstream_duration_s: expect.stringMatching(/^\d+\.\d{3}$/),
        }),
      { timeout: 60_000 },
    )
    expect(readFileSync(nginx.accessLog, 'utf8')).not.toContain('secret')
  })

  it('forwards a body beyond its buffer unmodified', async () => {
    const body = Buffer.alloc(MAX, 'all 256 values \0\xff', 'latin1')
    const answer = await post(nginx.url, { body })
    expect(answer.status).toBe(200)
    expect(tunnel.asked[0]?.body.equals(body)).toBe(true)
  })

  it('buffers a slow body until it is complete', async () => {
    const slow = request({ port: nginx.port, method: 'POST', path: '/monitoring' })
    slow.write('half')
    await post(nginx.url, { body: 'whole' })
    expect(tunnel.asked.map(({ body }) => String(body))).toEqual(['whole'])
    slow.end(' and half')
    const [response] = await once(slow, 'response')
    expect(await text(response)).toBe('tunnel')
    expect(tunnel.asked.map(({ body }) => String(body))).toEqual(['whole', 'half and half'])
  })

  it('forwards a complete envelope although its sender has disconnected', async () => {
    const body = Buffer.alloc(70_000, 'envelope ')
    const senders = Array.from({ length: 50 }, async (_, n) => {
      const sender = connect(nginx.port, '127.0.0.1')
      sender.write(
        `POST /monitoring?p=${n} HTTP/1.1\r\nHost: shop.example\r\nContent-Length: ${body.length}\r\n\r\n`,
      )
      await new Promise((resolve) => sender.write(body, resolve))
      sender.destroy()
    })
    await Promise.all(senders)
    await until(async () => tunnel.asked.length === 50)
    for (const asked of tunnel.asked) expect(asked.body.equals(body)).toBe(true)
  })

  it('drops the Upgrade header, and opens no lasting connection to web for it', async () => {
    const headers = 'Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
    for (let i = 0; i < 100; i++) {
      const socket = connect(nginx.port, '127.0.0.1')
      socket.write(`GET /live HTTP/1.1\r\n${headers}\r\n`)
      expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
      socket.destroy()
    }
    expect(upgrades).toBe(0)
    expect(web.asked).toHaveLength(100)
    for (const asked of web.asked) {
      expect(asked.headers).not.toHaveProperty('upgrade')
      expect(asked.headers).not.toHaveProperty('connection', 'upgrade')
    }
    const connections = await promisify(web.server.getConnections.bind(web.server))()
    expect(connections).toBeLessThan(20)
  })

  it('forwards server-sent events without a delay', async () => {
    const response = await fetch(`${nginx.url}/events`)
    const events = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await events?.read())?.value).toBe('data: 1\n\n')
    await fetch(`${nginx.url}/next`)
    expect((await events?.read())?.value).toBe('data: 2\n\n')
    await events?.cancel()
  })

  it('does not disclose its version', async () => {
    expect((await post(nginx.url, {})).headers.server).toBe('nginx')
  })
})

/** Streams events at `/events`, one for each request to `/next`. */
let more = () => {}

function answerAsWeb({ url }: { url: string }, response: ServerResponse): void {
  if (url === '/next') more()
  if (url === '/large') return void response.setHeader('content-type', 'text/html').end('x'.repeat(10_000))
  if (url.startsWith('/console/_next/static/gone'))
    return void response.writeHead(404, { 'cache-control': 'no-store' }).end()
  if (url.startsWith('/console/_next/static/'))
    return void response.setHeader('cache-control', 'public, max-age=31536000, immutable').end('web')
  if (url !== '/events') return void response.end('web')
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write('data: 1\n\n')
  more = () => response.write('data: 2\n\n')
}

/** Sends a GET from a chosen address of this machine. */
async function get(
  port: number,
  path: string,
  headers: Record<string, string>,
  localAddress: string,
): Promise<void> {
  const [response] = await once(
    request({ port, path, headers, localAddress, host: '127.0.0.1' }).end(),
    'response',
  )
  await text(response)
}

const ADDRESSES = [
  '203.0.113.77',
  '2001:db8:85a3:1::7',
  '2001:db8:85a3::7',
  '2001:db8::1:7',
  '2001::7',
  '::1',
]

describe('The access log of nginx', requires('nginx'), () => {
  it.each([
    ['forward', ADDRESSES],
    ['truncate', ['203.0.113.0', '2001:db8:85a3::', '2001:db8:85a3::', '2001:db8::', '2001::', '']],
    ['omit', ['', '', '', '', '', '']],
  ])('has the client address as CLIENT_ADDRESS=%s says', async (mode, logged) => {
    await using web = await startUpstream('web')
    await using nginx = await startNginx({
      tunnels: [web.address],
      web: web.address,
      env: { CLIENT_ADDRESS: mode, TRUSTED_PROXIES: '127.0.0.0/8' },
    })
    for (const [index, address] of ADDRESSES.entries()) {
      await post(nginx.url, { path: '/', method: 'GET', headers: { 'x-forwarded-for': address } })
      await until(async () => nginx.logged().length > index) // each line follows its response
    }
    expect(nginx.logged().map(({ client }) => client)).toEqual(logged)
  })
})
