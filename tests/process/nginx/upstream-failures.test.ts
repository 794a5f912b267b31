/** Responses of nginx while tunnels or web are away, slow or dying. */

import { once } from 'node:events'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import { freePort } from '../../../scripts/start/free-port.ts'
import { errorOf } from '../../support/envelopes.ts'
import { expectRejection } from '../../support/nginx/expected-rejection.ts'
import { type Nginx, startNginx } from '../../support/nginx/nginx.ts'
import { startSilent } from '../../support/nginx/unresponsive-server.ts'
import { type Answered, post } from '../../support/post.ts'
import { exchangeRaw, sendRaw } from '../../support/raw-request.ts'
import { startUpstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

const CLOSED_PORT = '127.0.0.1:1' // nothing listens there
const MAX = 1024 * 1024 // 1 MiB

/** Time limits that the tests wait for, and their shorter replacements. */
const SHORT_LIMITS = {
  '  client_body_timeout 10s;': '  client_body_timeout 1s;',
  '  proxy_buffering off;': '  proxy_buffering off;\n  proxy_read_timeout 1s;',
  '  proxy_next_upstream_timeout 10s;': '  proxy_next_upstream_timeout 900ms;',
}

describe('Without upstreams, nginx', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let nginx: Nginx

  beforeAll(async () => {
    const env = { MAX_ENVELOPE_BYTES: String(MAX) }
    nginx = started.use(await startNginx({ tunnels: [CLOSED_PORT], web: CLOSED_PORT, env, change: sooner }))
  })

  afterAll(() => started.disposeAsync())

  it('returns JSON that says that no tunnel is reachable', async () => {
    expectRejection(await post(nginx.url, { body: 'envelope' }), 'tunnel-away')
  })

  it('returns a page to visitors that asks them to wait', async () => {
    const answer = await post(nginx.url, { path: '/some/page', method: 'GET' })
    expect(answer.status).toBe(502)
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(answer.text).toMatch(/^<!doctype html>.*<h1>Back in a moment<\/h1>.*<\/html>$/)
    expect(answer.text).toContain(`Request ${answer.headers['x-request-id']}`)
    expect(answer.headers).not.toHaveProperty('retry-after')
    const nonce = answer.headers['x-request-id']
    expect(answer.text).toContain(`<style nonce="${nonce}">`)
    expect(answer.headers['content-security-policy']).toMatch(
      new RegExp(`^default-src 'none'; style-src 'nonce-${nonce}';`),
    )
  })

  it('rejects an envelope that is too large before its body arrives', async () => {
    expectRejection(await announce(nginx.port, MAX + 1), 'envelope-too-large')
  })

  it.each([
    ['headers that are too long', `POST /monitoring HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`],
    ['a request line that is too long', `POST /monitoring?${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['an invalid Content-Length', 'POST /monitoring HTTP/1.1\r\nHost: x\r\nContent-Length: 1x\r\n\r\n'],
    ['an unknown Transfer-Encoding', 'POST /monitoring HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x\r\n\r\n'],
    ['an HTTP/1.1 request without Host', 'POST /monitoring HTTP/1.1\r\n\r\n'],
    ['HTTP/4.0', 'POST /monitoring HTTP/4.0\r\nHost: x\r\n\r\n'],
    ['bytes that are not HTTP', 'EHLO mail.example\r\n\r\n'],
  ])('rejects %s', async (_, bytes) => {
    expectRejection(await sendRaw(nginx.port, bytes), 'request-malformed')
  })

  it('rejects an unsupported method in JSON', async () => {
    const answer = await sendRaw(
      nginx.port,
      'TRACE /monitoring HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    )
    expectRejection(answer, 'method-unknown')
    expect(answer.headers.allow).toBe('POST, OPTIONS')
  })

  it('does not log health checks', async () => {
    const oneWorker = (config: string) => config.replace('worker_processes 2', 'worker_processes 1') // logs in order
    await using single = await startNginx({ tunnels: [CLOSED_PORT], web: CLOSED_PORT, change: oneWorker })
    await sendRaw(single.port, 'TRACE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    await sendRaw(single.port, 'EHLO mail.example\r\n\r\n')
    await vi.waitFor(() => expect(single.logged()).not.toEqual([]), { timeout: 60_000 })
    expect(single.logged().map(({ status }) => status)).toEqual([400])
  })

  it('resets a connection whose body stops arriving, and logs 408', async () => {
    const half = 'POST /monitoring HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nhalf'
    await expect(exchangeRaw(nginx.port, half)).rejects.toThrow('ECONNRESET')
    await vi.waitFor(
      () =>
        expect(nginx.logged()).toContainEqual(
          expect.objectContaining({ method: 'POST', path: '/monitoring', status: 408 }),
        ),
      { timeout: 60_000 },
    )
  })

  it('rejects an envelope that exceeds the limit while it arrives', async () => {
    const body = Readable.from([Buffer.alloc(MAX), Buffer.alloc(1)])
    expectRejection(await post(nginx.url, { body }), 'envelope-too-large')
  })
})

describe('An upstream of nginx', requires('nginx'), () => {
  it("that does not respond gets an envelope or a GET once, and the sender gets an error; web's visitors get a page", async () => {
    await using slow = await startUpstream('slow', () => {})
    await using other = await startUpstream('other', () => {})
    const addresses = [slow.address, other.address]
    await using nginx = await startNginx({ tunnels: addresses, web: addresses.join(' '), change: sooner })
    const [envelope, script, page] = await Promise.all([
      post(nginx.url, { body: 'envelope' }),
      post(nginx.url, { path: '/monitoring/sdk.js', method: 'GET' }),
      post(nginx.url, { path: '/', method: 'GET' }),
    ])
    expectRejection(envelope, 'tunnel-slow')
    expectRejection(script, 'tunnel-slow')
    expect(page.status).toBe(502)
    expect(page.text).toContain('<h1>Back in a moment</h1>')
    const paths = [...slow.asked, ...other.asked].map(({ url }) => url).sort()
    expect(paths).toEqual(['/', '/monitoring', '/monitoring/sdk.js'])
  })

  it("that is unreachable is tried in two rounds, and web's visitors get a page", async () => {
    await using silent = await startSilent()
    await using other = await startSilent()
    const addresses = [silent.address, other.address]
    await using nginx = await startNginx({ tunnels: addresses, web: addresses.join(' ') })
    const [envelope, page] = await Promise.all([
      post(nginx.url, { body: 'envelope' }),
      post(nginx.url, { path: '/', method: 'GET' }),
    ])
    expectRejection(envelope, 'tunnel-away')
    expect(page.text).toContain('<h1>Back in a moment</h1>')
    await vi.waitFor(() => expect(nginx.logged()).toHaveLength(2), { timeout: 60_000 })
    const rounds = nginx.logged().map(({ upstream }) => String(upstream).split(' : '))
    expect(rounds.map(({ length }) => length)).toEqual([2, 2])
    for (const address of addresses)
      expect(rounds.map(([first]) => first)).toEqual(Array(2).fill(expect.stringContaining(address)))
  })

  it('that closes the connection has its envelope sent to another one', async () => {
    await using rude = await startUpstream('rude', (_, response) => void response.destroy())
    await using kind = await startUpstream('kind')
    await using nginx = await startNginx({ tunnels: [rude.address, kind.address], web: CLOSED_PORT })
    for (let i = 0; i < 8; i++) expect((await post(nginx.url, { body: 'envelope' })).text).toBe('kind')
    expect(rude.asked).not.toEqual([])
  })

  it('that closes connections gets an envelope twice, and a page or a post to web once', async () => {
    await using rude = await startUpstream('rude', (_, response) => void response.destroy())
    await using nginx = await startNginx({ tunnels: [rude.address], web: rude.address })
    const askedFor = async (request: Parameters<typeof post>[1]) => {
      rude.asked.length = 0
      expect((await post(nginx.url, request)).status).toBe(502)
      return rude.asked.length
    }
    expect(await askedFor({ body: 'envelope' })).toBe(2)
    expect(await askedFor({ path: '/', method: 'GET' })).toBe(1)
    expect(await askedFor({ path: '/', method: 'POST' })).toBe(1)
  })

  it('keeps the body of its own rejection', async () => {
    await using tunnel = await startUpstream(
      'tunnel',
      (_, response) => void response.writeHead(413).end('mine'),
    )
    await using nginx = await startNginx({ tunnels: [tunnel.address], web: CLOSED_PORT })
    expect((await post(nginx.url, {})).text).toBe('mine')
  })

  it('that is killed under load, one of two, causes no failed request, nor does its restart', async () => {
    const PORT = String(await freePort())
    await using steady = await startTunnel()
    const victim = await startTunnel({ env: { PORT } })
    await using nginx = await startNginx({
      tunnels: [`127.0.0.1:${steady.port}`, `127.0.0.1:${PORT}`],
      web: CLOSED_PORT,
    })
    const load = startLoad(nginx.url)
    await load.more(300)
    await victim.kill()
    await load.more(300)
    await using back = await startTunnel({ env: { PORT } })
    await back.log(({ msg }) => msg !== 'listening', 10_000)
    expect(await load.end()).toEqual([])
  })
})

/** Shortens the time limits of the shipped configuration. Fails when one of them is missing. */
function sooner(config: string): string {
  return Object.entries(SHORT_LIMITS).reduce((text, [shipped, short]) => {
    expect(text).toContain(shipped)
    return text.replaceAll(shipped, short)
  }, config)
}

/** Sends the headers of a post with a Content-Length, and no body. */
async function announce(port: number, length: number): Promise<Answered> {
  const sender = request({ port, path: '/monitoring', method: 'POST', headers: { 'content-length': length } })
  sender.on('error', () => {}).flushHeaders()
  const [response] = await once(sender, 'response')
  const text = (await response.setEncoding('utf8').toArray()).join('')
  sender.destroy()
  return { status: response.statusCode, headers: response.headers, text, json: JSON.parse(text) }
}

/** Posts errors to `url` (scheme, host, port), eight at a time, until it is stopped. */
function startLoad(url: string) {
  const body = errorOf(INBOX_DSN)
  const failures: string[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  let answered = 0
  let going = true

  async function send(): Promise<void> {
    while (going) {
      const failure = await post(url, { body }).then(
        ({ status, text }) => (status === 200 ? undefined : `${status} ${text}`),
        (error) => String(error),
      )
      if (failure !== undefined) failures.push(failure)
      answered++
      for (const { count, resolve } of waiting) if (answered >= count) resolve()
    }
  }

  const senders = Array.from({ length: 8 }, send)
  return {
    /** Resolves when `count` more have a response. */
    more: (count: number) =>
      new Promise<void>((resolve) => void waiting.push({ count: answered + count, resolve })),
    /** Returns every response other than 200 with its body, and every broken request. */
    async end(): Promise<string[]> {
      going = false
      await Promise.all(senders)
      return failures
    },
  }
}
