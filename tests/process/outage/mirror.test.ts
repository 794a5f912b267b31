/** Mirrors of tunnels that are processes: both Sentrys get every envelope, and neither harms what the other gets. */

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { MirrorStatus, ReplicaStatus } from '../../../contract/admin-api.ts'
import { envelopeOf, errorOf } from '../../support/envelopes.ts'
import { untilQuietBooks } from '../../support/outage/accounting.ts'
import { contentOf } from '../../support/outage/envelope-kinds.ts'
import { p99, settle } from '../../support/outage/reconciliation.ts'
import { startSteadyLoad } from '../../support/outage/steady-load.ts'
import { post } from '../../support/post.ts'
import type { Received } from '../../support/sentry/received-request.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { STORE_NAMES, STORES } from '../../support/spool/shared-stores.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

/** Environment of the full size: MIRROR_SECONDS=60 MIRROR_RATE=300 */
const SECONDS = Number(process.env.MIRROR_SECONDS ?? 3)
const RATE = Number(process.env.MIRROR_RATE ?? 100)
const MINUTE = 60_000
const KEY = 'fedcba9876543210fedcba9876543210'

describe.each(STORE_NAMES)('A tunnel with a mirror and a %s', (name, requirement) => {
  it(`delivers ${RATE} envelopes a second to both while the mirror is away for ${SECONDS} s`, {
    timeout: 10 * MINUTE,
    ...requirement,
  }, async () => {
    await using site = await openSite(name)
    const { sentry, mirror } = site
    const tunnel = await site.start({ UPSTREAM_LATE_MS: '2000' })
    const load = startSteadyLoad(() => [tunnel.url], sentry.dsn(), RATE)
    await sleep(2_000)
    await mirror.away()
    const went = performance.now()
    await sleep(SECONDS * 1_000)
    const cameBack = performance.now()
    await mirror.back()
    await sleep(2_000)
    const answers = await load.end()
    await site.untilMirrored(tunnel)
    const took = (performance.now() - cameBack) / 1_000
    await untilQuietBooks([tunnel])

    const own = settle(answers, sentry.requests)
    const its = settle(answers, site.mirrored())
    const during = answers.filter(({ sentAt }) => sentAt > went && sentAt < cameBack)
    const before = answers.filter(({ sentAt }) => sentAt < went)
    console.log(
      `${own.acknowledged} acknowledged (${JSON.stringify(own.statuses)}), the mirror has all ${took.toFixed(1)} s after its return;`,
      `p99 before ${p99(before)}, meanwhile ${p99(during)}; ${own.duplicates} and ${its.duplicates} came twice`,
    )
    expect(own).toMatchObject({ lost: [], duplicates: 0, statuses: { 200: answers.length } })
    expect(its).toMatchObject({ lost: [], duplicates: 0 })
    expect((await mirrorOf(tunnel)).results).toEqual({ delivered: answers.length })
    expect(mirror.requests.every(({ query }) => query.get('sentry_key') === KEY)).toBe(true)
    expect(mirror.requests.every(({ header }) => header.dsn === mirror.dsn())).toBe(true)
  })

  it('delivers what it has acknowledged before it was killed', requirement, async () => {
    await using site = await openSite(name)
    const killed = await site.start()
    expect(await site.send(killed, numbers(30).map(site.error))).toEqual(numbers(30).map(() => 200))
    await killed.kill()
    const tunnel = await site.start()
    await until(async () => site.mirror.requests.length >= 30)
    await site.untilMirrored(tunnel)
    expect(idsOf(site.mirror.requests)).toEqual(idsOf(site.sentry.requests))
  })

  it(
    'names the envelopes of a removed mirror, and delivers them when it is a project',
    requirement,
    async () => {
      await using site = await openSite(name)
      const { mirror } = site
      const before = await site.start()
      await mirror.away()
      await site.send(before, numbers(3).map(site.error))
      await before.stop()
      const without = await site.start({ MIRROR_DSN: '' })
      await until(async () => (await statusOf(without)).warnings.some((text) => text.includes('MIRROR_DSN')))
      const { spool } = await statusOf(without)
      expect(spool).toMatchObject({ envelopes: 0, partitions: [], mirrors: [{ envelopes: 3 }] })
      await without.stop()
      await mirror.back()
      const after = await site.start({ SENTRY_DSN: mirror.dsn(), MIRROR_DSN: '' })
      await until(async () => mirror.requests.length === 3)
      await untilQuietBooks([after])
    },
  )
})

describe('A tunnel with a mirror', () => {
  it('delivers an envelope that arrives again by a retry of nginx once', async () => {
    await using site = await openSite()
    const start = () => site.start({ UPSTREAM_LATE_MS: '4000' }) // the entry is leased for a second more
    const [killed, tunnel] = [await start(), await start()]
    await site.send(killed, [site.error(1)])
    await killed.kill()
    await site.send(tunnel, [site.error(1), site.error(2)])
    await site.untilMirrored(tunnel)
    expect(idsOf(site.mirror.requests)).toEqual([idOf(1), idOf(2)])
  })

  it('responds as before while the mirror never answers, which gets everything later', async () => {
    await using site = await openSite()
    const { sentry, mirror } = site
    const tunnel = await site.start()
    const untaken = new Set<Received>()
    mirror.answer((received) => {
      untaken.add(received)
      return 'silent'
    })
    expect(await site.send(tunnel, numbers(40).map(site.error))).toEqual(numbers(40).map(() => 200))
    await mirror.next()
    await site.send(tunnel, numbers(20).map(site.session))
    expect(sentry.requests).toHaveLength(60)
    mirror.answer({})
    await site.untilMirrored(tunnel)
    const taken = site.mirrored((received) => !untaken.has(received))
    expect(contentsOf(taken)).toEqual(contentsOf(sentry.requests))
  })

  it('forwards to the project when the mirror declines everything', async () => {
    await using site = await openSite()
    const tunnel = await site.start()
    site.mirror.answer({ status: 413, body: { detail: 'no' } })
    expect(await site.send(tunnel, numbers(10).map(site.error))).toEqual(numbers(10).map(() => 200))
    await site.untilMirrored(tunnel)
    expect((await mirrorOf(tunnel)).results).toEqual({ declined: 10 })
    expect(site.sentry.requests).toHaveLength(10)
    await untilQuietBooks([tunnel])
  })

  it('forwards to the project when a firewall refuses the mirror, and shows that', async () => {
    await using site = await openSite()
    const tunnel = await site.start()
    site.mirror.answer({ status: 403, body: '<html>no</html>' })
    expect(await site.send(tunnel, numbers(10).map(site.error))).toEqual(numbers(10).map(() => 200))
    await until(async () => (await mirrorOf(tunnel)).upstream.refusals?.[0]?.status === 403)
    expect((await mirrorOf(tunnel)).pending).toBe(10)
    expect((await statusOf(tunnel)).upstreams.flatMap(({ refusals = [] }) => refusals)).toEqual([])
    site.mirror.answer({})
    expect(site.sentry.requests).toHaveLength(10)
  })

  it('keeps the rate limits of the mirror and of the project apart', async () => {
    await using site = await openSite()
    const { sentry, mirror, error, session } = site
    const tunnel = await site.start()
    mirror.once('limiting')
    await site.send(tunnel, [error(1)])
    await mirror.next()
    await until(async () => (await mirrorOf(tunnel)).limits.length > 0)
    expect(await site.send(tunnel, [error(2), session(2)])).toEqual([200, 200])
    await mirror.next(({ header }) => header.event_id === undefined)
    expect((await statusOf(tunnel)).limits).toEqual([])
    expect((await mirrorOf(tunnel)).pending).toBe(2)

    sentry.once('limiting')
    await site.send(tunnel, [error(3)])
    expect(await site.send(tunnel, [error(4)])).toEqual([429])
    await until(async () => (await mirrorOf(tunnel)).pending === 4)
  })

  it('delivers to the mirror while the project is away, and to both in the end', async () => {
    await using site = await openSite()
    const { sentry, mirror } = site
    const tunnel = await site.start()
    await sentry.away()
    expect(await site.send(tunnel, numbers(20).map(site.error))).toEqual(numbers(20).map(() => 200))
    await until(async () => mirror.requests.length === 20)
    await untilQuietBooks([tunnel])
    await sentry.back()
    await until(async () => sentry.requests.length === 20)
    await untilQuietBooks([tunnel])
  })

  it('rejects envelopes with the DSN of the mirror', async () => {
    await using site = await openSite()
    const tunnel = await site.start()
    const answered = await post(tunnel.url, { body: errorOf(site.mirror.dsn()) })
    expect([answered.status, answered.json]).toEqual([403, expect.objectContaining({ code: 'dsn-unknown' })])
  })
})

/** Opens two Sentrys and a store, which tunnels share. */
async function openSite(store: keyof typeof STORES = 'SQLite file') {
  await using starting = new AsyncDisposableStack()
  const opened = await STORES[store]()
  starting.use(opened)
  const sentry = starting.use(await startSentry())
  const mirror = starting.use(await startSentry({ projects: { 77: KEY } }))
  const scope = starting.move()
  const settings = {
    SENTRY_DSN: sentry.dsn(),
    MIRROR_DSN: `${sentry.dsn()}->${mirror.dsn()}`,
    SPOOL_URL: opened.url,
    UPSTREAM_LATE_MS: '500',
  }
  return {
    sentry,
    mirror,
    start: async (env: Record<string, string> = {}) =>
      scope.use(await startTunnel({ env: { ...settings, ...env } })),
    error: (n: number) => errorOf(sentry.dsn(), { event_id: idOf(n) }),
    session: (n: number) =>
      envelopeOf({ dsn: sentry.dsn() }, [{ header: { type: 'session' }, payload: `{"seq":${n}}` }]),
    /** Returns the statuses of the responses. */
    send: (tunnel: Tunnel, bodies: readonly Buffer[]) =>
      Promise.all(bodies.map(async (body) => (await post(tunnel.url, { body })).status)),
    /** Returns the requests of the mirror as the project's own Sentry would have got them. */
    mirrored: (wanted: (received: Received) => boolean = () => true) =>
      mirror.requests.filter(wanted).map((received) => withDsn(received, sentry.dsn())),
    untilMirrored: (tunnel: Tunnel) =>
      until(async () => {
        const { pending, results } = await mirrorOf(tunnel)
        return pending === 0 && Object.keys(results).length > 0
      }, 5 * MINUTE),
    [Symbol.asyncDispose]: () => scope.disposeAsync(),
  }
}

async function statusOf(tunnel: Tunnel): Promise<ReplicaStatus> {
  return (await (await tunnel.admin('/status')).json()) as ReplicaStatus
}

async function mirrorOf(tunnel: Tunnel): Promise<MirrorStatus & { pending: number }> {
  const { mirrors: [found] = [], spool } = await statusOf(tunnel)
  if (!found) throw new Error('it has no mirror')
  return { ...found, pending: spool?.mirrors?.reduce((sum, { envelopes }) => sum + envelopes, 0) ?? 0 }
}

function withDsn(received: Received, dsn: string): Received {
  const { decoded } = received
  const newline = decoded.indexOf('\n')
  const header = { ...JSON.parse(decoded.toString('utf8', 0, newline)), dsn }
  return {
    ...received,
    decoded: Buffer.concat([Buffer.from(JSON.stringify(header)), decoded.subarray(newline)]),
  }
}

function contentsOf(requests: readonly Received[]): string[] {
  return requests.map(({ decoded }) => contentOf(decoded)).toSorted()
}

function idsOf(requests: readonly Received[]): unknown[] {
  return requests.map(({ header }) => header.event_id).toSorted()
}

function idOf(n: number): string {
  return n.toString(16).padStart(32, '0')
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n)
}
