/** Rate-limited envelopes and items, as the sender and Sentry see them. */

import { afterAll, beforeAll, describe, expect } from 'vitest'
import { EVENT_ID, envelopeOf, errorOf, type Part } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { it } from '../../support/tunnel/fixtures.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const KEY = '0123456789abcdef0123456789abcdef'
const PROJECTS = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [String(i + 1), KEY]))
const SCOPED = /^\d+:[a-z_;]+:key:tunnel(, \d+:[a-z_;]+:key:tunnel)*$/

const part = (type: string, payload: object = {}): Part => ({
  header: { type },
  payload: JSON.stringify(payload),
})

describe('A rate limit of Sentry', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnel: Tunnel
  let projects = 0

  beforeAll(async () => {
    sentry = started.use(await startSentry({ projects: PROJECTS }))
    const dsns = Object.keys(PROJECTS).map((project) => sentry.dsn(project))
    tunnel = started.use(await openTunnel({ env: { SENTRY_DSN: dsns.join(' ') } }))
  })

  afterAll(() => started.disposeAsync())

  /** Returns the DSN of a new project, because limits outlast a test. */
  const newDsn = () => sentry.dsn(String(++projects))
  const send = (dsn: string, ...parts: Part[]) =>
    post(tunnel.url, { body: envelopeOf({ event_id: EVENT_ID, dsn }, parts) })

  /** Makes Sentry answer an error with this header. */
  async function limit(dsn: string, rateLimits: string, status = 429) {
    sentry.once({ status, headers: { 'x-sentry-rate-limits': rateLimits } })
    const answer = await send(dsn, part('event'))
    await sentry.next()
    return answer
  }

  it('is applied by the tunnel, which answers 429 with the category and the remaining time', async () => {
    const dsn = newDsn()
    await limit(dsn, '60:error:key')
    const arrived = sentry.requests.length
    const { status, headers, json } = await send(dsn, part('event'))
    expect(status).toBe(429)
    const [, seconds] = /^(\d+):error:key:tunnel$/.exec(String(headers['x-sentry-rate-limits'])) ?? []
    expect(Number(seconds)).toBeGreaterThan(0)
    expect(Number(seconds)).toBeLessThanOrEqual(60)
    expect(headers).not.toHaveProperty('retry-after')
    expect(json).toMatchObject({ code: 'rate-limited' })
    expect(sentry.requests).toHaveLength(arrived)
  })

  it.each<[string, string[], number[]]>([
    ['error', ['event', 'session'], [1]],
    ['error', ['session', 'event', 'attachment', 'client_report'], [0, 3]],
    ['replay', ['replay_event', 'replay_recording', 'client_report'], [2]],
    ['session', ['client_report', 'session', 'invented', 'session'], [0, 2]],
  ])(
    'on %s removes its items from an envelope of %j, and the other bytes are forwarded unmodified',
    async (category, types, kept) => {
      const dsn = newDsn()
      await limit(dsn, `60:${category}:key`)
      const parts = types.map((type, i) => part(type, { note: `${type} ${i}` }))
      expect((await send(dsn, ...parts)).status).toBe(200)
      const { body } = await sentry.next()
      expect(body).toEqual(
        envelopeOf(
          { event_id: EVENT_ID, dsn },
          kept.flatMap((i) => parts[i] ?? []),
        ),
      )
    },
  )

  it('without categories applies to all items, and the sender gets the categories of its items', async () => {
    const dsn = newDsn()
    sentry.once({ status: 429 })
    await send(dsn, part('event'))
    await sentry.next()
    for (const type of ['event', 'session', 'log']) {
      const { status, headers } = await send(dsn, part(type))
      expect(status).toBe(429)
      expect(headers['x-sentry-rate-limits']).toMatch(SCOPED)
      expect(headers).not.toHaveProperty('retry-after')
    }
  })

  it('without categories applies only to its sender while the project accepts most envelopes', async () => {
    const dsn = newDsn()
    const statusOfNext = async (status: number) => {
      sentry.once({ status })
      const answer = await send(dsn, part('event'))
      await sentry.next()
      return answer.status
    }
    for (const status of [200, 200, 429, 200, 429, 429]) expect(await statusOfNext(status)).toBe(status)
    expect(await statusOfNext(429)).toBe(429)
    expect((await send(dsn, part('event'))).status).toBe(429) // by the tunnel: Sentry has received nothing
  })

  it.each([
    [{ 'retry-after': '7' }, /^7:error;[a-z_;]+:key:generic$/],
    [{}, /^60:error;[a-z_;]+:key:generic$/],
  ])(
    'reaches the sender with all categories if a 429 of Sentry has the headers %o',
    async (headers, limits) => {
      sentry.once({ status: 429, headers })
      const answer = await send(newDsn(), part('event'))
      await sentry.next()
      expect([answer.status, answer.headers['x-sentry-rate-limits']]).toEqual([
        429,
        expect.stringMatching(limits),
      ])
    },
  )

  it('does not change the 200 for items that a filter removes', async () => {
    const dsn = newDsn()
    await limit(dsn, '60:error:key')
    const noise = part('event', { exception: { values: [{ value: 'NEXT_REDIRECT' }] } })
    expect((await send(dsn, noise)).status).toBe(200)
    expect((await send(dsn, part('event'))).status).toBe(429)
  })

  it('is shown in metrics and status while it applies', async () => {
    const dsn = newDsn()
    await limit(dsn, '60:error:key')
    const name = `127.0.0.1:${sentry.port}/${projects}`
    const { limits } = await (await tunnel.admin('/status')).json()
    expect(limits).toContainEqual({ project: name, category: 'error', until: expect.any(Number) })
    const metrics = await (await tunnel.admin('/metrics')).text()
    expect(metrics).toContain(`culvert_upstream_rate_limits{project="${name}",category="error"} 1`)
  })
})

describe('The rate limits of Culvert', () => {
  it('remove replays first and errors last, and name only the affected categories', async ({ sentry }) => {
    const env = { SENTRY_DSN: sentry.dsn(), ADDRESS_RATE: '4' }
    await using tunnel = await openTunnel({ env, clock: () => 0 })
    const send = (address: string, ...types: string[]) =>
      post(tunnel.url, {
        headers: { 'x-forwarded-for': address },
        body: envelopeOf(
          { event_id: EVENT_ID, dsn: sentry.dsn() },
          types.map((type) => part(type)),
        ),
      })
    const crowd = '203.0.113.7'
    for (let i = 0; i < 25; i++) expect((await send(crowd, 'event')).status).toBe(200)

    const replay = await send(crowd, 'replay_event', 'replay_recording')
    expect([replay.status, replay.headers['x-sentry-rate-limits']]).toEqual([429, '10:replay:key:tunnel'])
    expect(replay.headers).not.toHaveProperty('retry-after')
    expect((await send(crowd, 'event')).status).toBe(200)
    expect((await send('203.0.113.8', 'replay_event', 'replay_recording')).status).toBe(200)

    let last = await send(crowd, 'event')
    for (let i = 0; i < 200 && last.status === 200; i++) last = await send(crowd, 'event')
    expect([last.status, last.headers['x-sentry-rate-limits']]).toEqual([
      429,
      expect.stringMatching(/^10:error;[a-z_;]+:key:tunnel$/),
    ])
    expect(last.headers).not.toHaveProperty('retry-after')

    const { addresses, warnings } = await (await tunnel.admin('/status')).json()
    expect([addresses, warnings]).toEqual([2, []])
  })

  describe('of a small rate', () => {
    it.override('settings', { ADDRESS_RATE: '1' })

    it('never cause a 429 without X-Sentry-Rate-Limits, also for items without a category', async ({
      sentry,
      tunnel,
    }) => {
      for (let i = 0; i < 20; i++)
        for (const type of ['client_report', 'invented', 'nel']) {
          const { status, headers } = await post(tunnel.url, {
            headers: { 'x-forwarded-for': '203.0.113.7' },
            body: envelopeOf({ dsn: sentry.dsn() }, [part(type)]),
          })
          if (status !== 200)
            expect([status, headers['x-sentry-rate-limits']]).toEqual([429, expect.stringMatching(SCOPED)])
        }
    })

    it('do not apply to a private address, and warn of missing TRUSTED_PROXIES when the site has a public name', async ({
      sentry,
      tunnel,
    }) => {
      const warnings = async () => (await (await tunnel.admin('/status')).json()).warnings.join()
      const visit = async (host: string, address: string) => {
        const headers = { host, 'x-forwarded-for': address }
        expect((await post(tunnel.url, { headers, body: errorOf(sentry.dsn()) })).status).toBe(200)
      }
      for (const host of [
        'localhost:8080',
        '127.0.0.1',
        '10.203.113.1:8080',
        '[::1]:8080',
        'nginx',
        'shop.local',
      ])
        await visit(host, '10.0.0.1')
      expect(await warnings()).toBe('')
      for (let i = 0; i < 4; i++) await visit('shop.example', '10.0.0.1')
      expect(await warnings()).toBe('') // the machine of the site, in a quiet hour
      await visit('shop.example', '10.0.0.1')
      expect(await warnings()).toMatch(/10\.0\.0\.1.*TRUSTED_PROXIES/)
      for (let i = 0; i < 10; i++) await visit('shop.example', `203.0.113.${i + 7}`)
      expect(await warnings()).toBe('') // one visitor uses the site from its own machine
    })
  })
})

describe('A filtered envelope', () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let tunnel: Tunnel

  beforeAll(async () => {
    sentry = started.use(await startSentry())
    const env = {
      SENTRY_DSN: sentry.dsn(),
      FILTERS: 'browser-extensions,web-crawlers,localhost,health-checks',
      FILTER_ERROR_MESSAGES: 'ChunkLoadError: *|*ResizeObserver*',
      FILTER_RELEASES: 'old@*',
    }
    tunnel = started.use(await openTunnel({ env }))
  })

  afterAll(() => started.disposeAsync())

  const send = (parts: Part[], headers: Record<string, string> = {}) =>
    post(tunnel.url, { headers, body: envelopeOf({ event_id: EVENT_ID, dsn: sentry.dsn() }, parts) })
  const thrown = (type: string, value: string) => part('event', { exception: { values: [{ type, value }] } })

  it.each<[string, Part]>([
    ['next-noise', thrown('Error', 'NEXT_REDIRECT')],
    ['browser-extensions', thrown('Error', 'Extension context invalidated.')],
    ['localhost', part('event', { request: { url: 'http://localhost:3000/' } })],
    ['filtered-transaction', part('transaction', { transaction: 'GET /healthz' })],
    ['error-message', thrown('ChunkLoadError', 'Loading chunk 7 failed.')],
    ['release-version', part('event', { release: 'old@1.0' })],
  ])('gets a 200 with the event ID and is not forwarded, with the reason %s', async (reason, noise) => {
    const arrived = sentry.requests.length
    const { status, json, headers } = await send([noise])
    expect([status, json]).toEqual([200, { id: EVENT_ID }])
    const receipt = await (await tunnel.admin(`/receipts/${headers['x-culvert-receipt']}`)).json()
    expect(receipt).toMatchObject({ outcome: 'filtered', reason, items: [{ discard_reason: reason }] })
    expect(sentry.requests).toHaveLength(arrived)
  })

  it('is recognized by the User-Agent header of a web crawler', async () => {
    const arrived = sentry.requests.length
    await send([part('event')], { 'user-agent': 'Googlebot/2.1' })
    expect(sentry.requests).toHaveLength(arrived)
  })

  it('is forwarded without the filtered item when it has others', async () => {
    const rest = [part('session'), part('client_report')]
    expect((await send([thrown('Error', 'NEXT_REDIRECT'), ...rest])).status).toBe(200)
    expect((await sentry.next()).body).toEqual(envelopeOf({ event_id: EVENT_ID, dsn: sentry.dsn() }, rest))
  })

  it('is forwarded when its filter is off', async () => {
    await using off = await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), DROP_NEXT_NOISE: 'off' } })
    for (const noise of [
      part('transaction', { transaction: '/404' }),
      thrown('Error', 'NEXT_REDIRECT'),
      part('event', { request: { url: 'http://localhost:3000/' } }),
    ]) {
      await post(off.url, { body: envelopeOf({ event_id: EVENT_ID, dsn: sentry.dsn() }, [noise]) })
      await sentry.next()
    }
  })
})
