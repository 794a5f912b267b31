/** Entries for mirrors: what they hold, a mirror or a project that is away, and a spool that is slow, fails or is full. */

import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MirrorStatus, ReplicaStatus } from '../../../contract/admin-api.ts'
import { addCounts, type Figures, noCounts } from '../../../contract/figures.ts'
import type { Config } from '../../../tunnel/src/config/config.ts'
import { isMirrorKey } from '../../../tunnel/src/pipeline/projects.ts'
import type { Spool } from '../../../tunnel/src/pipeline/spool.ts'
import { envelopeOf, errorOf, type Part } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import type { Received } from '../../support/sentry/received-request.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel, type TunnelOptions } from '../../support/tunnel/in-process.ts'
import { PATIENT_UPSTREAM } from '../../support/tunnel/running.ts'
import { until } from '../../support/until.ts'

const ADDRESS = { 'x-forwarded-for': '203.0.113.7' }

describe('An envelope of a project with a mirror', () => {
  let scope = new AsyncDisposableStack()
  let sentry: Sentry
  let mirror: Sentry

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    sentry = scope.use(await startSentry())
    mirror = scope.use(await startSentry({ projects: { 77: 'a'.repeat(32), 78: 'b'.repeat(32) } }))
  })

  afterEach(() => scope.disposeAsync())

  const open = async (
    env: Record<string, string> = {},
    options: Pick<TunnelOptions, 'adjust'> = {},
  ): Promise<Tunnel> => {
    const settings = {
      SENTRY_DSN: sentry.dsn(),
      MIRROR_DSN: `${sentry.dsn()}->${mirror.dsn()}`,
      UPSTREAM_LATE_MS: '100',
    }
    return scope.use(await openTunnel({ env: { ...settings, ...env }, ...options }))
  }
  /** Returns the statuses of the responses. */
  const send = (tunnel: Tunnel, bodies: readonly Buffer[]) =>
    Promise.all(bodies.map(async (body) => (await post(tunnel.url, { body })).status))
  const error = (n: number, message = 'hello') =>
    envelopeOf({ event_id: idOf(n), dsn: sentry.dsn() }, [event({ message })])
  const resultsOf = ({ services }: Tunnel) =>
    Object.fromEntries(
      services.counters.mirrored.all
        .filter(({ count }) => count > 0)
        .map(({ labels, count }) => [labels.result, count]),
    )
  const pendingOf = async (tunnel: Tunnel) => {
    const { partitions = [] } = (await tunnel.services.forwarding.spool.totals()) ?? {}
    const count = (isOfMirror: boolean) =>
      partitions
        .filter(({ project }) => isMirrorKey(project) === isOfMirror)
        .reduce((sum, { envelopes }) => sum + envelopes, 0)
    return { mirror: count(true), project: count(false) }
  }

  const sessionOf = (n: number) => envelopeOf({ dsn: sentry.dsn() }, [session(n)])
  const statusOf = async (tunnel: Tunnel): Promise<ReplicaStatus> => (await tunnel.admin('/status')).json()
  const mirrorOf = async (tunnel: Tunnel): Promise<MirrorStatus> =>
    (await statusOf(tunnel)).mirrors?.[0] ?? expect.unreachable('it has no mirror')
  /** Resolves when nothing is pending. Advances the clock and the retries, because probes and retries are seconds apart. */
  const drained = (tunnel: Tunnel) =>
    until(async () => {
      tunnel.advanceClock(1_000)
      await tunnel.retry()
      const pending = await pendingOf(tunnel)
      return pending.mirror + pending.project === 0
    })

  it('is delivered to both without removed items and with scrubbed payloads', async () => {
    const tunnel = await open({ SCRUB: 'default', FILTER_ERROR_MESSAGES: 'noise*' })
    const parts = [event({ message: 'mail to jane@mail.example' }), session(1)]
    const body = envelopeOf({ event_id: idOf(1), dsn: sentry.dsn() }, parts)
    await post(tunnel.url, { body: gzipSync(body), headers: { 'content-encoding': 'gzip', ...ADDRESS } })
    await post(tunnel.url, { body: error(2, 'noise in the line') })
    const [own, its] = [await sentry.next(), await mirror.next()]
    expect(String(own.decoded)).not.toContain('jane')
    expect(String(its.decoded)).toBe(String(own.decoded).replace(sentry.dsn(), mirror.dsn()))
    expect(its.headers['x-forwarded-for']).toBe('203.0.113.7')
    expect([sentry.requests.length, mirror.requests.length]).toEqual([1, 1])
  })

  it('is counted in the figures, apart from the outcome of its project', async () => {
    const tunnel = await open()
    await post(tunnel.url, { body: error(1) })
    await mirror.next()
    await until(async () => (await pendingOf(tunnel)).mirror === 0)
    const now = Date.now()
    const range = `from=${now - 600_000}&to=${now + 60_000}&step=60000`
    const sums = async () => {
      const { points } = (await (await tunnel.admin(`/figures?${range}`)).json()) as Figures
      const { received, outcomes, mirrored } = points.reduce(
        (sum, point) => addCounts(sum, point),
        noCounts(),
      )
      return { received, outcomes, mirrored }
    }
    const name = `127.0.0.1:${mirror.port}/77`
    await expect
      .poll(sums)
      .toEqual({ received: 1, outcomes: { delivered: 1 }, mirrored: { [`delivered:${name}`]: 1 } })
  })

  it('reaches the mirror scrubbed while a limit of the Sentry of the project holds it back', async () => {
    const tunnel = await open({ SCRUB: 'default' })
    sentry.once('limiting')
    await post(tunnel.url, { body: error(1) })
    const { status } = await post(tunnel.url, { body: error(2, 'mail to jane@mail.example') })
    expect(status).toBe(429)
    const its = await mirror.next(({ header }) => header.event_id === idOf(2))
    expect(String(its.decoded)).toContain('mail to [email]')
  })

  it.each<[string, Record<string, string>, Buffer]>([
    ['filtered', { FILTER_ERROR_MESSAGES: 'hello*' }, Buffer.from('')],
    ['rejected', {}, Buffer.from('no envelope')],
  ])('is not put into the spool if it is %s', async (_, env, body) => {
    const tunnel = await open(env)
    const { puts } = watchPuts(tunnel)
    await post(tunnel.url, { body: body.length > 0 ? body : error(1) })
    expect(puts).toEqual([])
  })

  it('is not put into the spool if a quota of the project is used up', async () => {
    const tunnel = await open({ QUOTA: 'error=1/day' })
    const { puts, release } = watchPuts(tunnel)
    release()
    const statuses = []
    for (const n of [1, 2]) statuses.push((await post(tunnel.url, { body: error(n) })).status)
    expect(statuses).toContain(429)
    expect(puts).toHaveLength(sentry.requests.length)
  })

  it('is answered once the spool has it for the mirror', async () => {
    const tunnel = await open()
    const { stored, release } = watchPuts(tunnel)
    sentry.answer(() => {
      setTimeout(release, 400) // within the second that the response waits
      return {}
    })
    expect((await post(tunnel.url, { body: error(1) })).status).toBe(200)
    expect(stored).toHaveLength(1)
  })

  it('is answered after a second at most if the disk is slow, and reaches the mirror later', async () => {
    const tunnel = await open()
    const { release } = watchPuts(tunnel)
    const answered = await post(tunnel.url, {
      body: gzipSync(error(1)),
      headers: { 'content-encoding': 'gzip' },
    })
    expect([answered.status, answered.outcome]).toEqual([200, undefined])
    release()
    const its = await mirror.next()
    expect(String(its.decoded)).toBe(String(error(1)).replace(sentry.dsn(), mirror.dsn()))
  })

  it('is lost for the mirror alone while 256 puts wait for a slow disk', async () => {
    const tunnel = await open()
    const { stored, release } = watchPuts(tunnel)
    const answered = await Promise.all(
      Array.from({ length: 260 }, (_, n) => post(tunnel.url, { body: error(n) })),
    )
    expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([200]))
    expect(resultsOf(tunnel)).toEqual({ lost: 4 })
    release()
    await until(async () => stored.length === 256)
  })

  it('is lost for the mirror alone if the disk fails, which the mirror is told', async () => {
    const tunnel = await open(PATIENT_UPSTREAM) // an envelope whose Sentry is late needs the disk, too
    const { fail } = watchPuts(tunnel)
    fail()
    const answered = await post(tunnel.url, { body: error(1) })
    expect([answered.status, answered.outcome]).toEqual([200, undefined])
    expect(resultsOf(tunnel)).toEqual({ lost: 1 })
    await tunnel.services.reports.flush()
    const { items } = await mirror.next()
    expect(JSON.parse(String(items[0]?.payload)).discarded_events).toEqual([
      { reason: 'queue_overflow', category: 'error', quantity: 1 },
    ])
  })

  it('leaves room for the project and its sender when two mirrors have filled their part of the spool', async () => {
    const pairs = ['77', '78'].map((id) => `${sentry.dsn()}->${mirror.dsn(id)}`)
    const tunnel = await open({ SPOOL_BYTES: '8000000', MIRROR_DSN: pairs.join(' ') })
    await mirror.away()
    const large = 'x'.repeat(40_000)
    let sent = 0
    const send = (headers = {}) => post(tunnel.url, { body: error(sent++, large), headers })
    const sendUntil = async (isOver: () => boolean, headers = {}) => {
      while (!isOver()) expect((await send(headers)).status).toBe(200)
    }
    await sendUntil(() => (resultsOf(tunnel).lost ?? 0) >= 2, ADDRESS) // the share of the address
    await sendUntil(() => (resultsOf(tunnel).lost ?? 0) >= 20)
    await sentry.away()
    expect((await send(ADDRESS)).outcome).toBe('spooled')
    const { mirror: kept } = await pendingOf(tunnel)
    for (let n = 1; n < kept * 0.9; n++) expect((await send()).outcome).toBe('spooled')
  })

  it('is sent to its project again while the mirror is away and many envelopes are pending for it', async () => {
    const tunnel = await open()
    const numbers = Array.from({ length: 60 }, (_, n) => n)
    await Promise.all([sentry.away(), mirror.away()])
    await Promise.all(numbers.map((n) => post(tunnel.url, { body: error(n) })))
    sentry.answer({ status: 413, body: { detail: 'too large' } })
    await sentry.back()
    tunnel.advanceClock(5_000) // to the next probe
    await until(async () => {
      await tunnel.retry()
      return (await pendingOf(tunnel)).project === 0
    })
    sentry.answer({})
    const declined = sentry.requests.length
    const headers = { authorization: `Bearer ${tunnel.token}` }
    const body = JSON.stringify({ state: 'declined' })
    expect((await tunnel.admin('/store/resend', { method: 'POST', headers, body })).status).toBe(200)
    await until(async () => sentry.requests.length === declined + numbers.length)
    await until(async () => (await pendingOf(tunnel)).project === 0)
    expect((await pendingOf(tunnel)).mirror).toBe(numbers.length)
  })

  it('gets the same response while the mirror never answers, which gets everything later', async () => {
    const adjust = (config: Config): Config => ({
      ...config,
      upstream: { ...config.upstream, answerMs: 2_000 },
    })
    const tunnel = await open({ UPSTREAM_LATE_MS: '1000' }, { adjust })
    const untaken = new Set<Received>()
    mirror.answer((received) => {
      untaken.add(received)
      return 'silent'
    })
    const numbers = Array.from({ length: 40 }, (_, n) => n)
    expect(
      await send(
        tunnel,
        numbers.map((n) => error(n)),
      ),
    ).toEqual(numbers.map(() => 200))
    await mirror.next()
    await send(tunnel, numbers.slice(20).map(sessionOf))
    await until(async () => sentry.requests.length === 60) // a response may be late on a busy machine
    mirror.answer({})
    await drained(tunnel)
    const taken = mirror.requests.filter((received) => !untaken.has(received))
    expect(
      taken.map(({ decoded }) => String(decoded).replace(mirror.dsn(), sentry.dsn())).toSorted(),
    ).toEqual(sentry.requests.map(({ decoded }) => String(decoded)).toSorted())
  })

  it('is forwarded to its project when the mirror declines everything', async () => {
    const tunnel = await open()
    mirror.answer({ status: 413, body: { detail: 'no' } })
    expect(await send(tunnel, [error(1), error(2)])).toEqual([200, 200])
    await until(async () => resultsOf(tunnel).declined === 2)
    expect(sentry.requests).toHaveLength(2)
  })

  it('is forwarded to its project when a firewall refuses the mirror, which the status shows', async () => {
    const tunnel = await open()
    mirror.answer({ status: 403, body: '<html>no</html>' })
    expect(await send(tunnel, [error(1), error(2)])).toEqual([200, 200])
    await until(async () => (await mirrorOf(tunnel)).upstream.refusals?.[0]?.status === 403)
    expect((await pendingOf(tunnel)).mirror).toBe(2)
    expect((await statusOf(tunnel)).upstreams.flatMap(({ refusals = [] }) => refusals)).toEqual([])
    expect(sentry.requests).toHaveLength(2)
  })

  it('is not held back from one of both by a rate limit of the other', async () => {
    const tunnel = await open()
    mirror.once('limiting')
    await send(tunnel, [error(1)])
    await until(async () => (await mirrorOf(tunnel)).limits.length > 0)
    expect(await send(tunnel, [error(2), sessionOf(2)])).toEqual([200, 200])
    await mirror.next(({ header }) => header.event_id === undefined)
    expect((await statusOf(tunnel)).limits).toEqual([])
    expect((await pendingOf(tunnel)).mirror).toBe(2)

    sentry.once('limiting')
    await send(tunnel, [error(3)])
    expect(await send(tunnel, [error(4)])).toEqual([429])
    await until(async () => (await pendingOf(tunnel)).mirror === 4)
  })

  it('is delivered to the mirror while the project is away, and to both in the end', async () => {
    const tunnel = await open()
    await sentry.away()
    const numbers = Array.from({ length: 20 }, (_, n) => n)
    expect(
      await send(
        tunnel,
        numbers.map((n) => error(n)),
      ),
    ).toEqual(numbers.map(() => 200))
    await until(async () => mirror.requests.length === 20)
    await sentry.back()
    await drained(tunnel)
    const idsOf = ({ requests }: Sentry) => requests.map(({ header }) => header.event_id).toSorted()
    expect(idsOf(sentry)).toEqual(numbers.map(idOf))
    expect(idsOf(mirror)).toEqual(numbers.map(idOf))
  })

  it('is rejected with the DSN of the mirror', async () => {
    const tunnel = await open()
    const { status, json } = await post(tunnel.url, { body: errorOf(mirror.dsn()) })
    expect([status, json]).toEqual([403, expect.objectContaining({ code: 'dsn-unknown' })])
  })

  /** Holds the puts of entries for the mirror back until `release`, or lets them fail. */
  function watchPuts({ services }: Tunnel) {
    const { store } = services.forwarding.spool ?? {}
    if (!store) throw new Error('it has no spool')
    const gate = Promise.withResolvers<void>()
    const puts: string[] = []
    const stored: string[] = []
    let isBroken = false
    const put: Spool['put'] = store.put.bind(store)
    store.put = async (entry, ...rest) => {
      if (!isMirrorKey(entry.project)) return put(entry, ...rest)
      puts.push(entry.project)
      if (isBroken) throw new Error('the disk is broken')
      await gate.promise
      const result = await put(entry, ...rest)
      stored.push(entry.project)
      return result
    }
    const fail = () => {
      isBroken = true
    }
    scope.defer(() => gate.resolve())
    return { puts, stored, release: () => gate.resolve(), fail }
  }
})

function event(payload: object): Part {
  const text = JSON.stringify(payload)
  return { header: { type: 'event', length: text.length }, payload: text }
}

function session(n: number): Part {
  return { header: { type: 'session' }, payload: `{"sid":"${n}"}` }
}

function idOf(n: number): string {
  return n.toString(16).padStart(32, '0')
}
