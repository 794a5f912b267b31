/** nginx in front of an operator's own app (APP_URL). */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../scripts/start/free-port.ts'
import { type Nginx, startNginx } from '../../support/nginx/nginx.ts'
import { post } from '../../support/post.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'

const LARGE = 2 * 1024 * 1024 // bytes; nginx's own default limit is 1 MiB

describe('nginx in front of an app', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let app: Upstream
  let web: Upstream
  let tunnel: Upstream
  let nginx: Nginx

  beforeAll(async () => {
    app = started.use(await startUpstream('app'))
    web = started.use(await startUpstream('web'))
    tunnel = started.use(await startUpstream('tunnel'))
    app.server.on('upgrade', ({ headers }, socket) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${headers.upgrade}\r\nConnection: Upgrade\r\n\r\n`,
      )
      socket.pipe(socket)
    })
    nginx = started.use(
      await startNginx({
        tunnels: [tunnel.address],
        web: web.address,
        env: { APP_URL: `http://${app.address}` },
      }),
    )
  })

  afterAll(() => started.disposeAsync())

  beforeEach(() => {
    for (const upstream of [app, web, tunnel]) upstream.asked.length = 0
  })

  it.each([
    '/',
    '/basket?page=2',
    '/_next/static/chunks/main.js',
    '/favicon.ico',
    '/healthz',
    '/consoles',
    '/labs',
    '/metrics',
    '/node_modules/.vite/deps/react.js',
  ])('sends %s to the app, unmodified', async (path) => {
    const answer = await post(nginx.url, { path, method: 'GET' })
    expect([answer.status, answer.text]).toEqual([200, 'app'])
    expect(app.asked).toMatchObject([{ method: 'GET', url: path }])
  })

  it.each([
    '/console',
    '/console/inbox',
    '/console/_next/static/chunks/main.js',
    '/console/public/settings.json',
    '/lab',
    '/lab/report.json',
  ])('sends %s to web, unmodified', async (path) => {
    const answer = await post(nginx.url, { path, method: 'GET' })
    expect([answer.status, answer.text]).toEqual([200, 'web'])
    expect(web.asked).toMatchObject([{ method: 'GET', url: path }])
  })

  it('sends an envelope to the tunnel, without cookies', async () => {
    expect((await post(nginx.url, { body: '{}', headers: { cookie: 'session=1' } })).text).toBe('tunnel')
    expect(tunnel.asked[0]?.headers).not.toHaveProperty('cookie')
  })

  it.each(['culvert_console', 'culvert_device'])(
    'gives the app no cookies with %s among them',
    async (name) => {
      for (const cookie of [`${name}=1`, `session=1; ${name}=1`, `${name}=1; session=1`])
        await post(nginx.url, { path: '/console/..%2fbasket', method: 'GET', headers: { cookie } })
      expect(app.asked).toHaveLength(3)
      for (const { headers } of app.asked) expect(headers).not.toHaveProperty('cookie')
    },
  )

  it('serves neither the app nor web at the inner address, only envelopes', async () => {
    for (const path of ['/', '/console/sign-in', '/console/_next/static/main.js', '/lab'])
      expect((await post(nginx.innerUrl, { path, method: 'GET' })).status).toBe(404)
    expect((await post(nginx.innerUrl, { body: '{}' })).text).toBe('tunnel')
    expect([...app.asked, ...web.asked]).toEqual([])
  })

  it('gives the app cookies, the authorization and the client address', async () => {
    const headers = { cookie: 'session=1', authorization: 'Bearer 1', 'x-forwarded-for': '192.0.2.1' }
    const forged = { forwarded: 'for=192.0.2.1', 'x-real-ip': '192.0.2.1' }
    await post(nginx.url, { path: '/', method: 'GET', headers: { ...headers, ...forged } })
    expect(app.asked[0]?.headers).toMatchObject({ ...headers, 'x-forwarded-for': '127.0.0.1' })
    for (const name of Object.keys(forged)) expect(app.asked[0]?.headers).not.toHaveProperty(name)
  })

  it('adds no policy and no other header of Culvert to a response of the app, except the request id', async () => {
    const { headers } = await post(nginx.url, { path: '/', method: 'GET' })
    const added = Object.keys(headers).filter((name) => /policy|frame|^x-|security/.test(name))
    expect(added).toEqual(['x-request-id'])
  })

  it('leaves the limit of a body to the app', async () => {
    const answer = await post(nginx.url, { path: '/upload', body: Buffer.alloc(LARGE) })
    expect(answer.text).toBe('app')
    expect(app.asked[0]?.body).toHaveLength(LARGE)
  })

  it('passes a WebSocket on to the app, in both directions', async () => {
    const [socket, response] = await upgrade('/hmr', 'websocket')
    expect(response).toMatch(/^HTTP\/1\.1 101 /)
    socket.write('ping')
    expect(String((await once(socket, 'data'))[0])).toBe('ping')
    socket.destroy()
  })

  it('keeps connections of envelopes open beside 150 WebSockets', async () => {
    await using open = new AsyncDisposableStack()
    for (let i = 0; i < 150; i++) {
      const [socket] = await upgrade('/hmr', 'websocket')
      open.defer(() => void socket.destroy())
    }
    expect((await post(nginx.url, { body: '{}' })).headers.connection).toBe('keep-alive')
  })

  it('upgrades no request of HTTP/1.0', async () => {
    const [socket, response] = await upgrade('/', 'websocket', 'HTTP/1.0')
    expect(response).toMatch(/^HTTP\/1\.1 200 /)
    socket.destroy()
    expect(app.asked[0]?.headers).not.toHaveProperty('upgrade')
  })

  it('upgrades to no other protocol', async () => {
    const [socket, response] = await upgrade('/', 'h2c')
    expect(response).toMatch(/^HTTP\/1\.1 200 /)
    socket.destroy()
    expect(app.asked[0]?.headers).not.toHaveProperty('upgrade')
  })

  it('passes no WebSocket on to web', async () => {
    const [socket, response] = await upgrade('/console', 'websocket')
    expect(response).toMatch(/^HTTP\/1\.1 200 /)
    socket.destroy()
    expect(web.asked[0]?.headers).not.toHaveProperty('upgrade')
  })

  it('serves web and the tunnel while the app is away, and returns 502 in its place', async () => {
    const env = { APP_URL: `http://127.0.0.1:${await freePort()}` }
    await using other = await startNginx({ tunnels: [tunnel.address], web: web.address, env })
    const page = await post(other.url, { path: '/', method: 'GET' })
    expect([page.status, page.headers['content-type']]).toEqual([502, 'text/html; charset=utf-8'])
    expect((await post(other.url, { path: '/console/check', method: 'GET' })).text).toBe('web')
    expect((await post(other.url, { body: '{}' })).text).toBe('tunnel')
  })

  it('logs a sentence for each request that the app does not answer, and for no other', async () => {
    const APP_URL = `http://127.0.0.1:${await freePort()}`
    await using other = await startNginx({ tunnels: [tunnel.address], web: '127.0.0.1:1', env: { APP_URL } })
    for (const path of ['/basket?secret=1', '/console/check']) await post(other.url, { path, method: 'GET' })
    await post(other.url, { body: '{}' })
    const log = readFileSync(join(dirname(other.accessLog), 'app-away.log'), 'utf8')
    expect(log.trim().split('\n')).toHaveLength(1)
    expect(JSON.parse(log)).toMatchObject({ code: 'app-away', msg: expect.stringContaining(APP_URL) })
    expect(log).not.toContain('secret')
  })

  it('logs nothing when the app itself answers 502', async () => {
    await using broken = await startUpstream('app', (_, response) => {
      response.statusCode = 502
      response.end('broken')
    })
    const env = { APP_URL: `http://${broken.address}` }
    await using other = await startNginx({ tunnels: [tunnel.address], web: web.address, env })
    expect((await post(other.url, { path: '/', method: 'GET' })).text).toBe('broken')
    expect(readFileSync(join(dirname(other.accessLog), 'app-away.log'), 'utf8')).toBe('')
  })

  /** Asks for another protocol, and returns the connection with the first bytes of the response. */
  async function upgrade(path: string, protocol: string, version = 'HTTP/1.1') {
    const socket = connect(nginx.port, '127.0.0.1')
    socket.write(`GET ${path} ${version}\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`)
    return [socket, String((await once(socket, 'data'))[0])] as const
  }
})
