/** Attacks on the tunnel, and the guard that stops each. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { listen } from '../../support/listen.ts'
import { type Posting, post } from '../../support/post.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

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

  describe('The tunnel does not disclose', () => {
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
  })
  return { ...(await listen(server)), visits: () => visits }
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
