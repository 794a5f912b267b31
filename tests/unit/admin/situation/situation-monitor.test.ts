/** Situation that two replicas find together, over a shared state. */

import { describe, expect, it } from 'vitest'
import type { Figures } from '../../../../contract/figures.ts'
import type { LastUpstreamError, UpstreamState } from '../../../../contract/upstream.ts'
import { SituationMonitor } from '../../../../tunnel/src/admin/situation/situation-monitor.ts'
import { MemoryValues } from '../../../support/spool/memory-values.ts'
import { figuresOf, MINUTE, pointAt } from '../../../support/web/figures.ts'

const SECOND = 1_000
const START = 10 * MINUTE
const ERROR: LastUpstreamError = {
  ...{ class: 'http-5xx', status: 503, first: START, last: START, count: 5 },
}

/** Replicas `a` and `b` of a site, whose parts the test changes. */
function startSite() {
  let now = START
  let figures: Figures | Error = figuresOf()
  let isAway = false
  let isHanging = false
  const values = new Map<string, MemoryValues>()
  const valuesOf = (key: string) => values.get(key) ?? values.set(key, new MemoryValues()).get(key)
  const get: MemoryValues['get'] = async () => ({ value: undefined, revision: 0 })
  const state = {
    clockOffsetMs: () => 0,
    get: async (key: string) => {
      if (isAway) throw new Error('the store is away')
      return valuesOf(key)?.get() ?? get()
    },
    put: async (key: string, value: string, revision: number) =>
      (await valuesOf(key)?.put(key, value, revision)) ?? false,
  }
  const spool = {
    ...{ id: 'shared', writable: true, since: 0, max_bytes: 1, project_max_bytes: 1, max_age_ms: MINUTE },
    ...{ attempts: [], envelopes: 0 },
  }
  const open = (replica: string) => {
    let upstream: UpstreamState = {
      ...{ origin: 'https://s.example', has_responded: true, refusals: [] },
      breaker: { open: false, since: 0 },
    }
    const monitor = new SituationMonitor({
      ...{ state, replica, storms: () => [], silenceMs: 30 * MINUTE, deployment: 'plain', now: () => now },
      describe: () =>
        isHanging
          ? new Promise(() => {})
          : Promise.resolve({ limits: [], upstreams: [upstream], spool: { ...spool } }),
      history: {
        read: async () => {
          if (figures instanceof Error) throw figures
          return figures
        },
      },
    })
    return {
      monitor,
      fail() {
        const breaker = { open: true, since: now, next_probe: now + 5 * SECOND } as const
        upstream = { ...upstream, breaker, last_error: { ...ERROR, first: now, last: now } }
      },
      recover() {
        upstream = { ...upstream, breaker: { open: false, since: now } }
      },
      async look() {
        const situation = await monitor.current()
        if (!situation) throw new Error('there is no situation')
        return situation
      },
    }
  }
  return {
    open,
    spool,
    pass(seconds: number) {
      now += seconds * SECOND
    },
    count(next: Figures | Error) {
      figures = next
    },
    /** Lets time pass for replicas that look every 5 s. */
    async live(seconds: number, ...replicas: { look(): Promise<unknown> }[]) {
      for (let passed = 0; passed < seconds; passed += 5) {
        now += 5 * SECOND
        for (const replica of replicas) await replica.look()
      }
    },
    loseStore() {
      isAway = true
    },
    findStore() {
      isAway = false
    },
    hang() {
      isHanging = true
    },
  }
}

describe('The situation', () => {
  it('is unknown when none was found for half a minute', async () => {
    const site = startSite()
    const { monitor } = site.open('a')
    await monitor.current()
    site.hang()
    site.pass(20)
    expect(await monitor.current()).toMatchObject({ state: 'ok' })
    site.pass(20)
    expect(await monitor.current()).toBeUndefined()
  })

  it('has no gap when the clock was set back after the start', async () => {
    const site = startSite()
    const a = site.open('a')
    await site.live(30, a)
    site.pass(-300)
    await site.live(90, a)
    expect((await a.look()).incidents).toEqual([])
  })

  it('misses no replica when the store was away', async () => {
    const site = startSite()
    const [a, b] = [site.open('a'), site.open('b')]
    await site.live(90, a, b)
    site.loseStore()
    await site.live(60, a, b)
    site.findStore()
    site.pass(5)
    expect(await a.look()).toMatchObject({ problems: [], incidents: [] })
  })

  it('has no gap after the store was away, also for a replica that started meanwhile', async () => {
    const site = startSite()
    const [a, b] = [site.open('a'), site.open('b')]
    await site.live(90, a, b)
    site.loseStore()
    await site.live(60, a, b)
    const c = site.open('c')
    await site.live(5, c)
    site.findStore()
    site.pass(5)
    expect((await c.look()).incidents).toEqual([])
  })

  it('is an outage only when no replica reaches Sentry, and the same on each', async () => {
    const site = startSite()
    const [a, b] = [site.open('a'), site.open('b')]
    await Promise.all([a.look(), b.look()])
    site.pass(5)
    a.fail()
    expect(await a.look()).toMatchObject({
      state: 'degraded',
      problems: [{ kind: 'upstream', is_total: false, replicas: 1, all_replicas: 2 }],
    })
    expect(await b.look()).toMatchObject({ state: 'degraded', problems: [{ is_total: false }] })
    site.pass(5)
    b.fail()
    await b.look()
    expect(await a.look()).toMatchObject({ state: 'outage', problems: [{ is_total: true }] })
  })

  it('has one incident of an outage, with its envelopes, for all replicas and those that start later', async () => {
    const site = startSite()
    const [a, b] = [site.open('a'), site.open('b')]
    await Promise.all([a.look(), b.look()])
    site.pass(5)
    a.fail()
    b.fail()
    site.spool.envelopes = 7
    await site.live(60, a, b)
    a.recover()
    b.recover()
    site.spool.envelopes = 0
    site.count(figuresOf([pointAt(11, { final_outcomes: { delivered: 7 } })]))
    await site.live(40, a, b)
    const { incidents, state, since } = await site.open('c').look()
    expect(incidents).toEqual([
      {
        ...{ state: 'outage', since: START + 5 * SECOND, until: START + 70 * SECOND },
        ...{ kinds: ['upstream'], detail: 'HTTP 503', delivered_late: 7, lost: 0, is_counting: false },
      },
    ])
    expect(state).toBe('ok')
    expect(since).toBeGreaterThanOrEqual(START + 65 * SECOND)
    expect((await b.look()).incidents).toEqual(incidents)
  })

  it('tells for an hour that no tunnel ran', async () => {
    const site = startSite()
    await site.open('a').look()
    site.pass(90)
    const next = site.open('b')
    const gap = { kind: 'gap', since: START, until: START + 90 * SECOND }
    expect(await next.look()).toMatchObject({ state: 'ok', problems: [gap] })
  })

  it('is that of one replica while the store is away', async () => {
    const site = startSite()
    const [a, b] = [site.open('a'), site.open('b')]
    await Promise.all([a.look(), b.look()])
    site.pass(5)
    site.loseStore()
    site.count(new Error('disk I/O error'))
    a.fail()
    expect(await a.look()).toMatchObject({
      state: 'outage',
      problems: [
        { kind: 'upstream', is_total: true },
        { kind: 'figures-missing', text: 'The figures cannot be read: disk I/O error.' },
      ],
    })
  })

  it('counts the losses of the week anew when some were added', async () => {
    const site = startSite()
    const a = site.open('a')
    expect(await a.look()).toMatchObject({ week: { losses: { unavailable: 0 } } })
    site.count(figuresOf([pointAt(10, { outcomes: { 'rejected:spool-full': 3 } })]))
    site.pass(16)
    expect(await a.look()).toMatchObject({
      state: 'outage',
      problems: [{ kind: 'losing', losses: { unavailable: 3 } }],
      week: { losses: { unavailable: 3 } },
    })
    expect([...a.monitor.kinds()]).toEqual(['losing'])
  })

  it('is degraded while pages load the SDK and no report arrives', async () => {
    const site = startSite()
    const a = site.open('a')
    const points = [pointAt(0), pointAt(5, { sdk_loads: 12 }), pointAt(8, { sdk_loads: 9 })]
    site.count(figuresOf(points, { to: 30 * MINUTE }))
    expect(await a.look()).toMatchObject({
      state: 'degraded',
      problems: [{ kind: 'silence', since: 0, minutes: 30, loads: 21 }],
    })
    site.count(figuresOf([...points, pointAt(9, { browser_envelopes: 1 })], { to: 30 * MINUTE }))
    site.pass(30)
    expect(await a.look()).toMatchObject({ state: 'ok', problems: [] })
  })

  it('misses a replica that was killed, but not before this one has run for a minute', async () => {
    const site = startSite()
    const [a, b] = [site.open('a'), site.open('b')]
    await Promise.all([a.look(), b.look()])
    await site.live(40, a)
    expect(await a.look()).toMatchObject({ state: 'ok' })
    await site.live(40, a)
    expect(await a.look()).toMatchObject({
      ...{ state: 'degraded', problems: [{ kind: 'replicas-away', name: 'b', since: START }] },
      incidents: [{ kinds: ['replicas-away'] }],
    })
  })

  it('misses no replica that stopped in an orderly way', async () => {
    const site = startSite()
    const [a, b] = [site.open('a'), site.open('b')]
    await Promise.all([a.look(), b.look()])
    await b.monitor.stop()
    await site.live(120, a)
    expect(await a.look()).toMatchObject({ state: 'ok', problems: [] })
  })
})
