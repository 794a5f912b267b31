/** Mirrors of tunnels that are processes: both Sentrys get every envelope, also after a kill. */

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { MirrorStatus, ReplicaStatus } from '../../../contract/admin-api.ts'
import { errorOf } from '../../support/envelopes.ts'
import { untilQuietBooks } from '../../support/outage/accounting.ts'
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

describe('A tunnel with a mirror', () => {
  it(`delivers ${RATE} envelopes a second to both while the mirror is away for ${SECONDS} s`, {
    timeout: 10 * MINUTE,
  }, async () => {
    await using site = await openSite()
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

  it('delivers what it has acknowledged before it was killed', async () => {
    await using site = await openSite()
    const killed = await site.start()
    expect(await site.send(killed, numbers(30).map(site.error))).toEqual(numbers(30).map(() => 200))
    await killed.kill()
    const tunnel = await site.start()
    await until(async () => site.mirror.requests.length >= 30)
    await site.untilMirrored(tunnel)
    expect(idsOf(site.mirror.requests)).toEqual(idsOf(site.sentry.requests))
  })

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
})

describe.each(STORE_NAMES)('A tunnel with a %s', (name, requirement) => {
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
    /** Returns the statuses of the responses. */
    send: (tunnel: Tunnel, bodies: readonly Buffer[]) =>
      Promise.all(bodies.map(async (body) => (await post(tunnel.url, { body })).status)),
    /** Returns the requests of the mirror as the project's own Sentry would have got them. */
    mirrored: () => mirror.requests.map((received) => withDsn(received, sentry.dsn())),
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

function idsOf(requests: readonly Received[]): unknown[] {
  return requests.map(({ header }) => header.event_id).toSorted()
}

function idOf(n: number): string {
  return n.toString(16).padStart(32, '0')
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n)
}
