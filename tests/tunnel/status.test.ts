/** What operators see of a running tunnel, and what they can change: no secret is in it. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorOf } from '../helpers/envelopes.ts'
import { NODE, ROOT } from '../helpers/node.ts'
import { post } from '../helpers/post.ts'
import { type Sentry, startSentry } from '../helpers/sentry.ts'
import { startTunnel, type Tunnel } from '../helpers/tunnel.ts'
import { until } from '../helpers/until.ts'

const SECRETS = {
  ADMIN_TOKEN: 'hush-token',
  OPERATOR_PASSWORD: 'hush-password',
  HTTPS_PROXY: 'http://u:hush-proxy@p.example:1',
}
const withSecret = (dsn: string) => dsn.replace('@', ':hushhush@')

describe('The status', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnel: Tunnel

  beforeAll(async () => {
    sentry = started.use(await startSentry())
    const env = {
      ...SECRETS,
      NO_PROXY: '127.0.0.1',
      SENTRY_DSN: withSecret(sentry.dsn()),
      TUNNEL_PATHS: '/t',
    }
    tunnel = started.use(await startTunnel({ env }))
  })

  afterAll(() => started.disposeAsync())

  const status = async () => (await tunnel.admin('/status')).json()

  it('shows version, replica, settings, projects, limits and breakers', async () => {
    expect(await status()).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      replica: expect.any(String),
      since: expect.any(Number),
      settings: { tunnelPaths: ['/t'], dsns: [sentry.dsn()], adminToken: 'set', forward: true },
      projects: [`127.0.0.1:${sentry.port}/456`],
      inFlight: 0,
      limits: [],
      upstreams: [{ origin: sentry.url, breaker: { open: false } }],
      warnings: [],
    })
  })

  it('holds no secret', async () => {
    expect(JSON.stringify(await status())).not.toContain('hush')
  })

  it('shows a breaker that is open, and the figures do too', async () => {
    await sentry.away()
    for (let i = 0; i < 5; i++) await post(tunnel.url, { path: '/t', body: errorOf(sentry.dsn()) })
    await until(async () => (await status()).upstreams[0].breaker.open)
    const metrics = await (await tunnel.admin('/metrics')).text()
    expect(metrics).toContain(`culvert_upstream_breaker_open{upstream="${sentry.url}"} 1`)
    await sentry.back()
    const arrived = sentry.requests.length
    expect((await post(tunnel.url, { path: '/t', body: errorOf(sentry.dsn()) })).status).not.toBe(200)
    expect(sentry.requests).toHaveLength(arrived)
  })
})

describe('The log level', () => {
  it('can be changed while the tunnel runs', async () => {
    await using tunnel = await startTunnel()
    const put = async (level: string) =>
      (
        await tunnel.admin(`/log-level?level=${level}`, {
          method: 'PUT',
          headers: { authorization: `Bearer ${tunnel.token}` },
        })
      ).status
    const send = (name: string) =>
      post(tunnel.url, { body: errorOf('https://culvert@inbox.invalid/1', { sdk: { name } }) })

    expect(await put('error')).toBe(200)
    await send('unheard')
    expect(await put('info')).toBe(200)
    await send('heard')
    await tunnel.receipt(({ sdk }) => sdk === 'heard')
    expect(tunnel.receipts.filter(({ sdk }) => sdk === 'unheard')).toEqual([])
  })

  it('takes none that it does not know, and no stranger’s word', async () => {
    await using tunnel = await startTunnel()
    const headers = { authorization: `Bearer ${tunnel.token}` }
    for (const query of ['', '?level=', '?level=loud', '?level=silent', '?level=__proto__'])
      expect((await tunnel.admin(`/log-level${query}`, { method: 'PUT', headers })).status).toBe(400)
    expect((await fetch(`${tunnel.adminUrl}/log-level?level=error`, { method: 'PUT' })).status).toBe(401)
  })
})

describe('The settings in force', () => {
  const show = (env: Record<string, string>) =>
    promisify(execFile)(NODE, ['tunnel/src/show-config.ts'], {
      cwd: ROOT,
      env: { PATH: process.env.PATH, ...env },
    })

  it('are printed without starting, and without secrets', async () => {
    const { stdout } = await show({
      ...SECRETS,
      SENTRY_DSN: withSecret('https://key@o1.ingest.us.sentry.io/2'),
      PORT: '1234',
    })
    expect(JSON.parse(stdout)).toMatchObject({
      port: 1234,
      tunnelPaths: ['/monitoring'],
      dsns: ['https://key@o1.ingest.us.sentry.io/2'],
      adminToken: 'set',
      upstream: { proxies: 'set' },
    })
    expect(stdout).not.toContain('hush')
  })

  it('are not printed when they are wrong: every problem is, with its remedy', async () => {
    const error = await show({ PORT: 'x', LOG_LEVEL: 'loud' }).catch((failure) => failure)
    expect(error).toMatchObject({ code: 1, stdout: '' })
    expect(error.stderr).toMatch(/2 problem/)
    for (const name of ['PORT', 'LOG_LEVEL']) expect(error.stderr).toContain(name)
  })
})
