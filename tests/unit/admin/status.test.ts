/** Status and settings that operators see and change, without secrets. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { until } from '../../support/until.ts'

const SECRETS = {
  ADMIN_TOKEN: 'hush-token',
  OPERATOR_PASSWORD: 'hush-password',
  HTTPS_PROXY: 'http://u:hush-proxy@p.example:1',
  ALERT_URL: 'http://127.0.0.1:9/hush-alert smtp://u:hush-mail@127.0.0.1:9/?from=a@b.example&to=c@d.example',
  HEARTBEAT_URL: 'http://127.0.0.1:9/hush-beat',
}
const CLOCKS_DRIFT = 1_000 // ms by which the wall clock may be corrected during the test
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
    tunnel = started.use(await openTunnel({ env }))
  })

  afterAll(() => started.disposeAsync())

  const status = async () => (await tunnel.admin('/status')).json()

  it('shows version, replica, settings, projects, limits and breakers', async () => {
    expect(await status()).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      replica: expect.any(String),
      since: expect.any(Number),
      settings: { TUNNEL_PATHS: '/t', SENTRY_DSN: sentry.dsn(), ADMIN_TOKEN: '…' },
      dsns: [sentry.dsn()],
      projects: [`127.0.0.1:${sentry.port}/456`],
      in_flight: 0,
      limits: [],
      upstreams: [{ origin: sentry.url, has_responded: false, breaker: { open: false } }],
      warnings: [],
      actions: [],
    })
  })

  it('shows a mirror to which two keys of a project lead once', async () => {
    const mirror = 'https://its@mirror.example/7'
    const dsns = [sentry.dsn(), sentry.dsn().replace(/[^/]+@/, 'other@')]
    const env = { SENTRY_DSN: dsns.join(' '), MIRROR_DSN: dsns.map((dsn) => `${dsn}->${mirror}`).join(' ') }
    await using mirrored = await openTunnel({ env })
    const { mirrors } = await (await mirrored.admin('/status')).json()
    expect(mirrors).toMatchObject([{ mirror: 'mirror.example/7', project: `127.0.0.1:${sentry.port}/456` }])
  })

  it('contains no secret, and neither does the log', async () => {
    expect(JSON.stringify(await status())).not.toContain('hush')
    await tunnel.admin('/alerts/test', {
      method: 'POST',
      headers: { authorization: `Bearer ${tunnel.token}` },
    })
    await tunnel.log(({ msg }) => msg === 'the heartbeat was not sent')
    expect(JSON.stringify(tunnel.logs)).not.toContain('hush')
  })

  it('returns the last 50 changes by operators, newest first', async () => {
    const headers = { authorization: `Bearer ${tunnel.token}`, 'x-operator-address': '192.0.2.7' }
    const act = async (path: string) =>
      expect((await tunnel.admin(path, { method: 'POST', headers })).status).toBe(200)
    const project = `127.0.0.1:${sentry.port}/456`
    const common = { operator: '192.0.2.7', client_address: '127.0.0.1', time: expect.any(Number) }
    for (let n = 0; n < 49; n++) await act('/spool/retry?all')
    await act(`/spool/pause?project=${project}`)
    await act(`/spool/resume?project=${project}`)
    await tunnel.admin('/spool', { headers }) // only changes are listed
    const { actions } = await status()
    expect(actions).toHaveLength(50)
    expect(actions.slice(0, 3)).toEqual([
      { action: 'spool-resume', project, ...common },
      { action: 'spool-pause', project, ...common },
      { action: 'spool-retry', envelopes: 0, ...common },
    ])
  })

  it('shows an open breaker with its start and its next probe, and /metrics shows it too', async () => {
    const before = Date.now()
    expect((await status()).upstreams[0].breaker).toEqual({ open: false, since: expect.any(Number) })
    await sentry.away()
    for (let i = 0; i < 5; i++) await post(tunnel.url, { path: '/t', body: errorOf(sentry.dsn()) })
    await until(async () => (await status()).upstreams[0].breaker.open)
    const { since, next_probe: nextProbe } = (await status()).upstreams[0].breaker
    expect(since).toBeGreaterThanOrEqual(before - CLOCKS_DRIFT)
    expect(since).toBeLessThanOrEqual(Date.now() + CLOCKS_DRIFT)
    expect(nextProbe).toBeGreaterThan(since)
    const metrics = await (await tunnel.admin('/metrics')).text()
    expect(metrics).toContain(`culvert_upstream_breaker_open{upstream="${sentry.url}"} 1`)
    await sentry.back()
    const arrived = sentry.requests.length
    const held = await post(tunnel.url, { path: '/t', body: errorOf(sentry.dsn()) })
    expect(held.headers['x-culvert-outcome']).toBe('spooled')
    expect(sentry.requests).toHaveLength(arrived)
    expect((await status()).upstreams[0].has_responded).toBe(false)
    tunnel.advanceClock(10_000) // to the next probe
    await until(async () => (await status()).upstreams[0].has_responded)
  })
})

describe('The log level', () => {
  it('can be changed while the tunnel runs', async () => {
    await using tunnel = await openTunnel()
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

  it('rejects unknown levels with 400 and requests without a token with 401', async () => {
    await using tunnel = await openTunnel()
    const headers = { authorization: `Bearer ${tunnel.token}` }
    for (const query of ['', '?level=', '?level=loud', '?level=silent', '?level=__proto__'])
      expect((await tunnel.admin(`/log-level${query}`, { method: 'PUT', headers })).status).toBe(400)
    expect((await fetch(`${tunnel.adminUrl}/log-level?level=error`, { method: 'PUT' })).status).toBe(401)
  })
})
