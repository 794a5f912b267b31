/** Requests of a tunnel process to Sentry by HTTPS: certificates and proxies come from its environment. */

import { createServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import { connect, type Server } from 'node:net'
import { resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../scripts/start/free-port.ts'
import { errorOf } from '../../support/envelopes.ts'
import { listen } from '../../support/listen.ts'
import { ROOT } from '../../support/node.ts'
import { post } from '../../support/post.ts'
import { readCertificate, type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

const KEY = '0123456789abcdef0123456789abcdef'
const CERTIFICATE = resolve(ROOT, 'tests/fixtures/tls/cert.pem')
const OTHER_CERTIFICATE = resolve(ROOT, 'tests/fixtures/tls/renewed.pem')
const KEY_FILE = resolve(ROOT, 'tests/fixtures/tls/key.pem')

describe('Sentry over HTTPS', () => {
  let scope: AsyncDisposableStack
  let secure: Sentry

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    secure = scope.use(await startSentry({ tls: readCertificate() }))
  })

  afterEach(() => scope.disposeAsync())

  async function postThrough(env: Record<string, string>) {
    const tunnel = scope.use(await startTunnel({ env: { SENTRY_DSN: secure.dsn(), ...env } }))
    return post(tunnel.url, { body: errorOf(secure.dsn()) })
  }

  it('is not trusted with an unknown certificate', async () => {
    expect((await postThrough({})).outcome).toBe('spooled')
    expect(secure.requests).toHaveLength(0)
  })

  it.each(['CA_FILE', 'NODE_EXTRA_CA_CERTS'])(
    'is trusted when %s contains its certificate authority',
    async (name) => {
      expect((await postThrough({ [name]: CERTIFICATE })).status).toBe(200)
      expect(secure.requests).toHaveLength(1)
    },
  )

  it('is trusted with a public certificate authority when CA_FILE adds another one', async () => {
    const env = { CA_FILE: OTHER_CERTIFICATE, NODE_EXTRA_CA_CERTS: CERTIFICATE }
    expect((await postThrough(env)).status).toBe(200)
  })

  it.each([
    [
      'cannot be read',
      '/nowhere/ca.pem',
      /CA_FILE: "\/nowhere\/ca\.pem" cannot be read; write the path of a file/,
    ],
    [
      'holds no certificate',
      '/dev/null',
      /CA_FILE: "\/dev\/null" does not hold certificates in PEM; write the path/,
    ],
    ['holds a key', KEY_FILE, /CA_FILE: ".*key\.pem" does not hold certificates in PEM;/],
  ])('is not contacted when CA_FILE %s, because the tunnel does not start', async (_, file, sentence) => {
    await expect(startTunnel({ env: { SENTRY_DSN: secure.dsn(), CA_FILE: file } })).rejects.toThrow(sentence)
  })

  it.each(['HTTPS_PROXY', 'https_proxy'])('is reached through the proxy in %s', async (name) => {
    const proxy = await startProxy()
    const answer = await postThrough({ NODE_EXTRA_CA_CERTS: CERTIFICATE, [name]: proxy.url })
    expect(answer.status).toBe(200)
    expect(proxy.asked).toEqual([`127.0.0.1:${secure.port}`])
    expect(secure.requests).toHaveLength(1)
  })

  it.each([
    ['straight', () => ({})],
    ['through a proxy', async () => ({ HTTPS_PROXY: (await startProxy()).url })],
  ])('is contacted with HTTP/1.1 although it offers HTTP/2, %s', async (_, settings) => {
    const spoken: string[] = []
    const port = await serve(
      createSecureServer({ allowHTTP1: true, ...readCertificate() }, (request, response) => {
        spoken.push(request.httpVersion)
        request.resume().on('end', () => response.end('{}'))
      }),
    )
    const dsn = `https://${KEY}@127.0.0.1:${port}/456`
    const env = { SENTRY_DSN: dsn, NODE_EXTRA_CA_CERTS: CERTIFICATE, ...(await settings()) }
    const tunnel = scope.use(await startTunnel({ env }))
    expect((await post(tunnel.url, { body: errorOf(dsn) })).status).toBe(200)
    expect(spoken).toEqual(['1.1'])
  })

  it('is contacted directly when NO_PROXY names it', async () => {
    const proxy = await startProxy()
    const answer = await postThrough({
      NODE_EXTRA_CA_CERTS: CERTIFICATE,
      HTTPS_PROXY: proxy.url,
      NO_PROXY: 'elsewhere.example,127.0.0.1',
    })
    expect(answer.status).toBe(200)
    expect(proxy.asked).toEqual([])
  })

  it('is not contacted directly when the proxy is away', async () => {
    const env = { NODE_EXTRA_CA_CERTS: CERTIFICATE, HTTPS_PROXY: `http://127.0.0.1:${await freePort()}` }
    expect((await postThrough(env)).outcome).toBe('spooled')
    expect(secure.requests).toHaveLength(0)
  })

  it.each([
    ['has a self-signed certificate', 'tls', /^DEPTH_ZERO_SELF_SIGNED_CERT$/, () => secure.dsn()],
    ['has no address', 'dns', /^(ENOTFOUND|EAI_AGAIN)$/, () => `https://${KEY}@sentry.invalid/456`],
  ])(
    'with the error "%s" is shown in log, receipt, status and metrics as %s',
    async (_, errorClass, code, dsnOf) => {
      const dsn = dsnOf()
      const upstream = new URL(dsn).origin
      const tunnel = scope.use(await startTunnel({ env: { SENTRY_DSN: dsn } }))
      for (let n = 0; n < 5; n++)
        expect((await post(tunnel.url, { body: errorOf(dsn, { n }) })).outcome).toBe('spooled')
      const opened = await tunnel.log(({ msg }) => msg === 'circuit breaker opened')
      const error = { class: errorClass, code: expect.stringMatching(code) }
      expect(opened).toMatchObject({ upstream, error: { ...error, count: expect.any(Number) } })
      await until(async () => tunnel.receipts.length === 5)
      expect(tunnel.receipts[0]).toMatchObject({ outcome: 'spooled', upstream_error: errorClass })
      const status = await (await tunnel.admin('/status')).json()
      expect(status.upstreams).toMatchObject([
        { origin: upstream, breaker: { open: true }, last_error: error },
      ])
      const { first, last, count } = status.upstreams[0].last_error
      expect(count).toBeGreaterThanOrEqual(5)
      expect(last).toBeGreaterThanOrEqual(first)
      const metrics = await (await tunnel.admin('/metrics')).text()
      const counted = new RegExp(
        `^culvert_upstream_errors_total\\{upstream="(.*)",class="${errorClass}"\\} (\\d+)$`,
        'm',
      )
      expect(counted.exec(metrics)?.slice(1)).toEqual([upstream, expect.stringMatching(/^([5-9]|\d\d+)$/)])
      expect(metrics).toContain(`culvert_upstream_errors_total{upstream="${upstream}",class="http-5xx"} 0\n`)
      expect(JSON.stringify([opened, status.upstreams, tunnel.receipts])).not.toContain(KEY)
    },
  )

  const serve = async (server: Server) => scope.use(await listen(server)).port

  /** Starts a proxy that opens tunnels by CONNECT, and records their targets. */
  async function startProxy() {
    const asked: string[] = []
    const server = createServer((_, response) => void response.writeHead(405).end())
    server.on('connect', (request, socket) => {
      const target = request.url ?? ''
      asked.push(target)
      const [host = '', port] = target.split(':')
      const there = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        there.pipe(socket).pipe(there)
      })
      there.on('error', () => socket.destroy())
      socket.on('error', () => there.destroy()).on('close', () => there.destroy())
    })
    return { asked, url: `http://127.0.0.1:${await serve(server)}` }
  }
})
