/** Mirrors of tunnels that are processes: both Sentrys get every envelope, and neither harms what the other gets. */

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MirrorStatus, ReplicaStatus } from '../../../contract/admin-api.ts'
import { envelopeOf, errorOf } from '../../support/envelopes.ts'
import { untilQuietBooks } from '../../support/outage/accounting.ts'
import { contentOf } from '../../support/outage/envelope-kinds.ts'
import { p99, settle } from '../../support/outage/reconciliation.ts'
import { startSteadyLoad } from '../../support/outage/steady-load.ts'
import { post } from '../../support/post.ts'
import type { Received } from '../../support/sentry/received-request.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

/** Environment of the full size: MIRROR_SECONDS=60 MIRROR_RATE=500 */
const SECONDS = Number(process.env.MIRROR_SECONDS ?? 3)
const RATE = Number(process.env.MIRROR_RATE ?? 100)
const MINUTE = 60_000
const KEY = 'fedcba9876543210fedcba9876543210'

describe('A tunnel with a mirror', () => {
  let scope = new AsyncDisposableStack()
  let sentry: Sentry
  let mirror: Sentry
  let folder: string

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    folder = scope.use(await makeMemoryFolder()).path
    sentry = scope.use(await startSentry())
    mirror = scope.use(await startSentry({ projects: { 77: KEY } }))
  })

  afterEach(() => scope.disposeAsync())

  const start = async (env: Record<string, string> = {}): Promise<Tunnel> => {
    const settings = {
      SENTRY_DSN: sentry.dsn(),
      MIRROR_DSN: `${sentry.dsn()}->${mirror.dsn()}`,
      SPOOL_URL: pathToFileURL(join(folder, 'spool.db')).href,
      UPSTREAM_LATE_MS: '500',
      UPSTREAM_ANSWER_MS: '5000',
    }
    return scope.use(await startTunnel({ env: { ...settings, ...env } }))
  }
  const statusOf = async (tunnel: Tunnel) => (await (await tunnel.admin('/status')).json()) as ReplicaStatus
  const mirrorOf = async (tunnel: Tunnel): Promise<MirrorStatus & { pending: number }> => {
    const { mirrors: [found] = [], spool } = await statusOf(tunnel)
    if (!found) throw new Error('it has no mirror')
    const pending = spool?.mirrors?.reduce((sum, { envelopes }) => sum + envelopes, 0) ?? 0
    return { ...found, pending }
  }
  const untilEmpty = (tunnel: Tunnel) =>
    until(async () => {
      const { pending, results } = await mirrorOf(tunnel)
      return pending === 0 && Object.keys(results).length > 0
    }, 5 * MINUTE)
  /** Returns the requests of the mirror as the project's own Sentry would have got them. */
  const mirrored = () => mirror.requests.map((received) => withDsn(received, sentry.dsn()))
  const error = (n: number) => errorOf(sentry.dsn(), { event_id: n.toString(16).padStart(32, '0') })
  const session = (n: number) =>
    envelopeOf({ dsn: sentry.dsn() }, [{ header: { type: 'session' }, payload: `{"seq":${n}}` }])
  const send = (tunnel: Tunnel, bodies: readonly Buffer[]) =>
    Promise.all(bodies.map((body) => post(tunnel.url, { body })))
  const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

  it(`delivers ${RATE} envelopes a second to both while the mirror is away for ${SECONDS} s`, {
    timeout: 10 * MINUTE,
  }, async () => {
    const tunnel = await start({ UPSTREAM_LATE_MS: '2000', UPSTREAM_ANSWER_MS: '10000' })
    const load = startSteadyLoad(() => [tunnel.url], sentry.dsn(), RATE)
    await sleep(2_000)
    await mirror.away()
    const went = performance.now()
    await sleep(SECONDS * 1_000)
    const cameBack = performance.now()
    await mirror.back()
    await sleep(2_000)
    const answers = await load.end()
    await untilEmpty(tunnel)
    const took = (performance.now() - cameBack) / 1_000
    await untilQuietBooks([tunnel])

    const own = settle(answers, sentry.requests)
    const its = settle(answers, mirrored())
    const during = answers.filter(({ sentAt }) => sentAt > went && sentAt < cameBack)
    const before = answers.filter(({ sentAt }) => sentAt < went)
    console.log(
      `${own.acknowledged} acknowledged (${JSON.stringify(own.statuses)}), the mirror has all ${took.toFixed(1)} s after its return;`,
      `p99 before ${p99(before)}, meanwhile ${p99(during)}; ${own.duplicates} and ${its.duplicates} came twice`,
    )
    expect(own).toMatchObject({ lost: [], duplicates: 0, statuses: { 200: answers.length } })
    expect(its).toMatchObject({ lost: [], duplicates: 0 })
    const { results } = await mirrorOf(tunnel)
    expect(results).toEqual({ delivered: answers.length })
    expect(mirror.requests.every(({ query }) => query.get('sentry_key') === KEY)).toBe(true)
    expect(mirror.requests.every(({ header }) => header.dsn === mirror.dsn())).toBe(true)
  })

  it('responds as before while the mirror never answers, which gets everything later', async () => {
    const tunnel = await start()
    const untaken = new Set<Received>()
    mirror.answer((received) => {
      untaken.add(received)
      return 'silent'
    })
    const answered = await send(tunnel, numbers(40).map(error))
    expect(answered.map(({ status, outcome }) => [status, outcome])).toEqual(
      numbers(40).map(() => [200, undefined]),
    )
    await mirror.next()
    await send(tunnel, numbers(20).map(session))
    expect(sentry.requests).toHaveLength(60)
    mirror.answer({})
    await untilEmpty(tunnel)
    const taken = mirror.requests.filter((received) => !untaken.has(received))
    expect(taken.map((received) => contentOf(withDsn(received, sentry.dsn()).decoded)).toSorted()).toEqual(
      sentry.requests.map(({ decoded }) => contentOf(decoded)).toSorted(),
    )
  })

  it.each([403, 413])('delivers to the project when the mirror declines all with %i', async (status) => {
    const tunnel = await start()
    mirror.answer({ status, body: { detail: 'no' } })
    const answered = await send(tunnel, numbers(10).map(error))
    expect(answered.map((each) => each.status)).toEqual(numbers(10).map(() => 200))
    await mirror.next()
    if (status === 413) {
      await untilEmpty(tunnel)
      expect((await mirrorOf(tunnel)).results).toEqual({ declined: 10 })
    }
    expect(sentry.requests).toHaveLength(10)
    await untilQuietBooks([tunnel])
  })

  it('keeps the rate limits of the mirror and of the project apart', async () => {
    const tunnel = await start()
    mirror.once('limiting')
    await send(tunnel, [error(1)])
    await mirror.next()
    await until(async () => (await mirrorOf(tunnel)).limits.length > 0)
    const [answered] = await send(tunnel, [error(2), session(2)])
    expect(answered?.status).toBe(200)
    await mirror.next(({ header }) => header.event_id === undefined)
    expect((await statusOf(tunnel)).limits).toEqual([])
    expect((await mirrorOf(tunnel)).pending).toBe(2)

    sentry.once('limiting')
    await send(tunnel, [error(3)])
    const [limited] = await send(tunnel, [error(4)])
    expect(limited?.status).toBe(429)
    await until(async () => (await mirrorOf(tunnel)).pending === 4)
  })

  it('delivers to the mirror while the project is away, and to both in the end', async () => {
    const tunnel = await start()
    await sentry.away()
    const answered = await send(tunnel, numbers(20).map(error))
    expect(answered.map(({ outcome }) => outcome)).toEqual(numbers(20).map(() => 'spooled'))
    await until(async () => mirror.requests.length === 20)
    await untilQuietBooks([tunnel])
    await sentry.back()
    await until(async () => sentry.requests.length === 20)
    await untilQuietBooks([tunnel])
  })

  it('delivers to the mirror what it has acknowledged before it was killed', async () => {
    const killed = await start()
    const answered = await send(killed, numbers(30).map(error))
    await killed.kill()
    expect(answered.map(({ status }) => status)).toEqual(numbers(30).map(() => 200))
    const tunnel = await start()
    await until(async () => mirror.requests.length >= 30)
    await untilEmpty(tunnel)
    expect(mirror.requests.map(({ header }) => header.event_id).toSorted()).toEqual(
      sentry.requests.map(({ header }) => header.event_id).toSorted(),
    )
  })

  it('delivers an envelope that arrives again by a retry of nginx to the mirror once', async () => {
    const killed = await start()
    await send(killed, [error(1)])
    await killed.kill()
    const tunnel = await start()
    await send(tunnel, [error(1), error(2)])
    await untilEmpty(tunnel)
    expect(mirror.requests.map(({ header }) => header.event_id).toSorted()).toEqual(
      [1, 2].map((n) => n.toString(16).padStart(32, '0')),
    )
  })

  it('rejects envelopes with the DSN of the mirror', async () => {
    const tunnel = await start()
    const answered = await post(tunnel.url, { body: errorOf(mirror.dsn()) })
    expect([answered.status, answered.json]).toEqual([403, expect.objectContaining({ code: 'dsn-unknown' })])
  })

  it('names the envelopes of a removed mirror, and delivers them when it is a project', async () => {
    const before = await start()
    await mirror.away()
    await send(before, numbers(3).map(error))
    await before.stop()
    const without = await start({ MIRROR_DSN: '' })
    await until(async () => (await statusOf(without)).warnings.some((text) => text.includes('MIRROR_DSN')))
    const { spool } = await statusOf(without)
    expect(spool).toMatchObject({ envelopes: 0, partitions: [], mirrors: [{ envelopes: 3 }] })
    await without.stop()
    await mirror.back()
    const after = await start({ SENTRY_DSN: mirror.dsn(), MIRROR_DSN: '' })
    await until(async () => mirror.requests.length === 3)
    await untilQuietBooks([after])
  })
})

function withDsn(received: Received, dsn: string): Received {
  const { decoded } = received
  const newline = decoded.indexOf('\n')
  const header = { ...JSON.parse(decoded.toString('utf8', 0, newline)), dsn }
  return {
    ...received,
    decoded: Buffer.concat([Buffer.from(JSON.stringify(header)), decoded.subarray(newline)]),
  }
}
