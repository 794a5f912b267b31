/** Attacks on the tunnel, and the guard that stops each. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { type Posting, post } from '../../support/post.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { openProxy, VISITOR_ADDRESS } from '../../support/visitor-proxy.ts'

const KEY = '0123456789abcdef0123456789abcdef'
const FORGED = '6.6.6.6'

describe('Security', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnel: Tunnel
  let internal: Awaited<ReturnType<typeof openInternal>>

  beforeAll(async () => {
    sentry = started.use(await startSentry())
    internal = started.use(await openInternal())
    tunnel = started.use(await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), EDGE: '127.0.0.1' } }))
  })

  afterAll(() => started.disposeAsync())

  const send = (posting: Posting) => post(tunnel.url, { body: errorOf(sentry.dsn()), ...posting })

  /** Returns the last request that Sentry received. */
  function latest() {
    const received = sentry.requests.at(-1)
    if (!received) throw new Error('nothing has arrived')
    return received
  }

  /** Expects that neither Sentry nor the internal service receives a request while `act` runs. */
  async function expectNothingSent(act: () => Promise<unknown>): Promise<void> {
    const arrived = sentry.requests.length
    await act()
    await sentry.idle()
    expect(sentry.requests).toHaveLength(arrived)
    expect(internal.visits()).toBe(0)
  }

  describe('The upstream is not chosen by', () => {
    it.each([
      ['a host and a path', 'o=.evil.example/x?&p=456'],
      ['an encoded fragment', 'o=1.evil.example%23&p=456'],
      ['an encoded slash', 'o=1%2F&p=456'],
      ['an @ and an address', 'o=@127.0.0.1&p=456'],
      ['segments ..', 'p=../../456'],
      ['a second value after a valid one', 'p=456&p=@127.0.0.1'],
      ['a region that is a host', 'p=456&r=us.evil.example/'],
      ['another organisation', 'o=666&p=456'],
      ['another project', 'p=666'],
    ])('the query, with %s', async (_, query) => {
      await expectNothingSent(async () => {
        expect((await send({ path: `/monitoring?${query}` })).status).toBe(400)
        expect((await send({ path: `/monitoring?${query}`, body: errorOf(undefined) })).status).toBe(400)
      })
    })

    it.each([
      ['of an internal service', (port: number) => `http://${KEY}@127.0.0.1:${port}/456`],
      ['of the same host at another port', (port: number) => `http://${KEY}@localhost:${port}/456`],
      ['of a cloud metadata service', () => `http://${KEY}@169.254.169.254/456`],
      ['of another organisation at Sentry', () => `https://${KEY}@o666.ingest.us.sentry.io/456`],
      ['with another key', () => sentry.dsn('456', { key: 'other' })],
      ['with a path before the project', () => sentry.dsn('456', { path: 'x' })],
      ['with a host before an @', (port: number) => sentry.dsn().replace('@', `@127.0.0.1:${port}@`)],
    ])('the DSN of the envelope, when it is one %s', async (_, dsn) => {
      await expectNothingSent(async () => {
        const { status } = await send({ body: errorOf(dsn(internal.port)) })
        expect([400, 403]).toContain(status)
      })
    })

    it.each(['x-forwarded-host', 'forwarded', 'x-original-url', 'x-sentry-auth', 'host'])(
      'the header %s',
      async (name) => {
        const value = name === 'host' ? `127.0.0.1:${internal.port}` : `host=127.0.0.1:${internal.port}`
        expect(await send({ headers: { [name]: value } })).toMatchObject({ status: 200 })
        expect(latest().headers.host).toBe(`127.0.0.1:${sentry.port}`)
        expect(internal.visits()).toBe(0)
      },
    )

    it('an absolute URL on the request line', async () => {
      const body = errorOf(sentry.dsn())
      const target = `http://127.0.0.1:${internal.port}/monitoring`
      await say(
        tunnel.port,
        `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      )
      expect(internal.visits()).toBe(0)
    })

    it('a redirect from Sentry, which is neither followed nor forwarded', async () => {
      await using sentry = await startSentry()
      await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn() } })
      const location = `http://127.0.0.1:${internal.port}/secret`
      for (const status of [301, 302, 307, 308]) {
        sentry.answer({ status, headers: { location }, body: 'moved' })
        const heard = await post(tunnel.url, { body: errorOf(sentry.dsn(), { status }) })
        expect(heard.outcome).toBe('spooled')
        expect(heard.headers).not.toHaveProperty('location')
        expect(heard.text).not.toContain('moved')
      }
      expect(internal.visits()).toBe(0)
    })
  })

  describe('The client address is not forged by', () => {
    it.each([
      'cf-connecting-ip',
      'x-vercel-forwarded-for',
      'x-sentry-forwarded-for',
      'x-real-ip',
      'true-client-ip',
      'forwarded',
      'x-client-ip',
    ])('the header %s', async (name) => {
      await send({ headers: { [name]: FORGED, 'x-forwarded-for': '203.0.113.7' } })
      const { rawHeaders } = latest()
      expect(rawHeaders.join('\n')).not.toContain(FORGED)
      expect(rawHeaders.filter((value) => value === '203.0.113.7')).toHaveLength(3)
    })

    it.each(['x-forwarded-for', 'X-FORWARDED-FOR'])('%s of a sender outside EDGE', async (name) => {
      await using proxy = await openProxy(tunnel.port)
      await post(`http://127.0.0.1:${proxy.port}`, {
        headers: { [name]: FORGED },
        body: errorOf(sentry.dsn()),
      })
      const { headers } = latest()
      expect(headers).toMatchObject({
        'x-forwarded-for': VISITOR_ADDRESS,
        'x-sentry-forwarded-for': VISITOR_ADDRESS,
      })
    })

    it.each([
      ['a list of two addresses', `${FORGED}, 203.0.113.7`],
      ['two header lines', [FORGED, '203.0.113.7']],
    ])('X-Forwarded-For from the edge with %s', async (_, value) => {
      await send({ headers: { 'x-forwarded-for': value } })
      expect(latest().rawHeaders.join('\n')).not.toContain(FORGED)
    })

    it.each([
      '"forwarded_for"',
      '"forw\\u0061rded_for"',
      '"\\u0066orwarded_for"',
      '"remote_addr"',
      '"client"',
      '"user_agent"',
    ])('%s in the header of the envelope, compressed or not', async (key) => {
      const clean = errorOf(sentry.dsn())
      const forged = Buffer.concat([Buffer.from(`{${key} : "${FORGED}" , `), clean.subarray(1)])
      for (const [body, headers] of [
        [forged, {}],
        [gzipSync(forged), { 'content-encoding': 'gzip' }],
      ] as const) {
        expect(await send({ body, headers })).toMatchObject({ status: 200 })
        expect(JSON.parse(String(latest().decoded).split('\n')[0] ?? '')).toEqual(
          JSON.parse(String(clean).split('\n')[0] ?? ''),
        )
      }
    })
  })

  describe('The tunnel does not disclose', () => {
    it('cookies and credentials of a visitor to Sentry', async () => {
      await send({
        headers: { cookie: 'a=hush', authorization: 'Bearer hush', 'proxy-authorization': 'Basic hush' },
      })
      expect(latest().rawHeaders.join('\n')).not.toContain('hush')
    })

    it('cookies and security headers of Sentry to the page', async () => {
      const names = [
        'set-cookie',
        'strict-transport-security',
        'content-security-policy',
        'access-control-allow-origin',
        'clear-site-data',
        'refresh',
        'link',
        'server',
        'via',
        'alt-svc',
        'x-sentry-error',
      ]
      sentry.once({ headers: Object.fromEntries(names.map((name) => [name, 'hush'])) })
      const { status, headers } = await send({})
      latest()
      expect(status).toBe(200)
      expect(Object.values(headers).join('\n')).not.toContain('hush')
    })

    it('payloads and client addresses in its log', async () => {
      const body = errorOf(sentry.dsn(), { sdk: { name: 'the-last' } })
      await send({ body, headers: { 'x-forwarded-for': '203.0.113.99', cookie: 'a=hush' } })
      latest()
      await tunnel.receipt(({ sdk }) => sdk === 'the-last')
      expect(JSON.stringify(tunnel.logs)).not.toMatch(
        /hello world|203\.0\.113\.99|hush|0123456789abcdef0123456789abcdef/,
      )
    })
  })

  describe('Request smuggling', () => {
    const smuggled = () => {
      const body = errorOf(sentry.dsn())
      return `POST /monitoring HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    }

    it.each<[string, (hidden: string) => string]>([
      [
        'Content-Length before Transfer-Encoding',
        (hidden) => `Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
      ],
      [
        'Transfer-Encoding before Content-Length',
        (hidden) =>
          `Transfer-Encoding: chunked\r\nContent-Length: ${hidden.length + 5}\r\n\r\n0\r\n\r\n${hidden}`,
      ],
      [
        'two Content-Length headers',
        (hidden) => `Content-Length: 2\r\nContent-Length: ${hidden.length + 2}\r\n\r\n{}${hidden}`,
      ],
      ['a list in Content-Length', (hidden) => `Content-Length: 2, ${hidden.length + 2}\r\n\r\n{}${hidden}`],
      ['a Content-Length with a plus sign', (hidden) => `Content-Length: +2\r\n\r\n{}${hidden}`],
      ['a negative Content-Length', (hidden) => `Content-Length: -1\r\n\r\n${hidden}`],
      ['a hexadecimal Content-Length', (hidden) => `Content-Length: 0x2\r\n\r\n{}${hidden}`],
      ['an unknown Transfer-Encoding', (hidden) => `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`],
      [
        'a Transfer-Encoding that does not end with chunked',
        (hidden) => `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
      ],
      ['a space before the colon', (hidden) => `Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${hidden}`],
      ['a folded header', (hidden) => `Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${hidden}`],
      [
        'a Content-Length in a folded header',
        (hidden) => `X: y\r\n Content-Length: 2\r\nContent-Length: \r\n 2\r\n\r\n{}${hidden}`,
      ],
      ['a bare carriage return', (hidden) => `X: y\rContent-Length: 2\r\n\r\n{}${hidden}`],
      [
        'a bare line feed in a chunk',
        (hidden) => `Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n${hidden}`,
      ],
      [
        'a chunk size that overflows',
        (hidden) => `Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n${hidden}`,
      ],
      [
        'a chunk longer than its size',
        (hidden) => `Transfer-Encoding: chunked\r\n\r\n2\r\n{}x\r\n0\r\n\r\n${hidden}`,
      ],
      ['a null byte in a header', (hidden) => `X: \0\r\nContent-Length: 2\r\n\r\n{}${hidden}`],
    ])('returns one 400 and forwards nothing for %s', async (_, rest) => {
      await expectNothingSent(async () => {
        const answer = await say(tunnel.port, `POST /monitoring HTTP/1.1\r\nHost: x\r\n${rest(smuggled())}`)
        expect(answer).toMatch(/^HTTP\/1\.1 400 /)
        expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1)
      })
    })

    it('is not suspected of two valid requests on one connection', async () => {
      const closing = smuggled().replace('Host: x', 'Host: x\r\nConnection: close')
      const answer = await say(tunnel.port, `${smuggled()}${closing}`)
      expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
      latest()
      latest()
    })
  })
})

/** Starts a service that outside clients must not reach. */
async function openInternal() {
  let visits = 0
  const server = createServer((_, response) => {
    visits++
    response.end('secret')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    visits: () => visits,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Writes the bytes unmodified, and returns the response when the server closes the connection. */
async function say(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let heard = ''
  socket.setEncoding('latin1').on('data', (text) => {
    heard += text
  })
  socket.on('error', () => {})
  socket.write(bytes)
  await once(socket, 'close')
  return heard
}
