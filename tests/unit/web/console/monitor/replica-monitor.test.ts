/** Totals and rates of the monitor while replicas start, stop and return. */

import { describe, expect, it } from 'vitest'
import type { OperatorAction, ReplicaFigures, ReplicaStatus } from '../../../../../contract/admin-api.ts'
import { rateNow } from '../../../../../web/features/console/monitor/rates.ts'
import { Monitor } from '../../../../../web/features/console/monitor/replica-monitor.ts'

const statusOf = (replica: string, actions: OperatorAction[] = []): ReplicaStatus => ({
  ...{ version: '0.0.0', replica, since: 0, settings: {}, dsns: [], projects: [], in_flight: 0, limits: [] },
  ...{ upstreams: [], addresses: 0, warnings: [], actions },
})

const figuresOf = (count: number): ReplicaFigures => ({
  outcomes: [{ outcome: 'delivered', reason: '', project: 'p/1', category: 'error', count }],
  items: [{ type: 'event', outcome: 'delivered', count }],
  bytes: [{ outcome: 'delivered', project: 'p/1', category: 'error', count: count * 10 }],
  final_outcomes: [{ final_outcome: 'delivered', project: 'p/1', count }],
  durations: { '+Inf': count },
  upstream_durations: { 'https://p': { '+Inf': count } },
  process: { resident_bytes: 1, cpu_seconds: count / 100, event_loop_p99_seconds: 0 },
})

/** Replicas by their names, with the number of envelopes that each has counted; `undefined` for a release without figures, `dead` for no response. */
function startMonitor() {
  const living = new Map<string, number | 'dead' | undefined>()
  const actions = new Map<string, OperatorAction[]>()
  let time = 0
  const monitor = new Monitor({
    origins: async () => [...living.keys()].map((name) => `http://${name}`),
    ask: async (origin) => {
      const name = origin.slice('http://'.length)
      const count = living.get(name)
      if (count === 'dead') throw new Error('no response')
      return {
        status: statusOf(name, actions.get(name)),
        figures: count === undefined ? undefined : figuresOf(count),
      }
    },
    now: () => time,
  })
  return {
    living,
    actions,
    history: () => monitor.history(),
    look: (afterMs = 10_000) => {
      time += afterMs
      return monitor.snapshot(0)
    },
  }
}

describe('Monitor', () => {
  it('returns rates of replicas that add up to the total rate, also on a quiet site', async () => {
    const { living, look, history } = startMonitor()
    living.set('first', 100).set('second', 100)
    await look()
    for (const [first, second] of [
      [105, 100],
      [105, 100],
      [105, 102],
      [105, 102],
    ] as const) {
      living.set('first', first).set('second', second)
      const { replicas } = await look(2_000)
      const all = rateNow(history(), ({ outcomes }) => outcomes.delivered ?? 0)
      expect(all).toBeGreaterThan(0)
      expect(replicas.reduce((sum, { rate }) => sum + rate, 0)).toBeCloseTo(all)
    }
  })

  it('does not count totals from before the first response as growth', async () => {
    const { living, look, history } = startMonitor()
    await look()
    expect(history()).toEqual([])
    living.set('first', 1_000)
    await look()
    living.set('first', 1_003)
    await look()
    expect(history().map(({ outcomes }) => outcomes)).toEqual([{ delivered: 1_000 }, { delivered: 1_003 }])
  })

  it('adds a gap to the history while no replica responds', async () => {
    const { living, look, history } = startMonitor()
    living.set('first', 1).set('second', 1)
    await look()
    living.set('first', 'dead')
    await look()
    living.set('second', 'dead')
    await look()
    living.set('first', 1)
    await look()
    expect(history().map(({ isGap }) => isGap)).toEqual([undefined, undefined, true, undefined])
  })

  it('counts a replica once when it returns after many others have stopped', async () => {
    const { living, look } = startMonitor()
    living.set('first', 100)
    await look()
    living.delete('first')
    for (let n = 0; n < 30; n++) {
      living.set(`n${n}`, 1)
      await look()
      living.delete(`n${n}`)
    }
    const without = await look()
    expect(without.replicas.map(({ name }) => name)).not.toContain('first')
    expect(without.totals.outcomes).toMatchObject([{ count: 130 }])
    living.set('first', 101)
    const { totals, replicas } = await look()
    expect(replicas.find(({ name }) => name === 'first')?.state).toBe('responding')
    expect(totals).toEqual({
      outcomes: [{ outcome: 'delivered', reason: '', project: 'p/1', category: 'error', count: 131 }],
      items: [{ type: 'event', outcome: 'delivered', count: 131 }],
      bytes: [{ outcome: 'delivered', project: 'p/1', category: 'error', count: 1_310 }],
      final_outcomes: [{ final_outcome: 'delivered', project: 'p/1', count: 131 }],
      durations: { '+Inf': 131 },
      upstream_durations: { 'https://p': { '+Inf': 131 } },
      vanished: 0,
    })
  })

  it('shows a killed replica once while its address is still listed', async () => {
    const { living, look } = startMonitor()
    living.set('fixed', 100)
    await look()
    living.set('fixed', 'dead')
    await look()
    expect((await look(70_000)).replicas.map(({ state }) => state)).toEqual(['stopped'])
    expect((await look()).replicas.map(({ name, state }) => [name, state])).toEqual([['fixed', 'stopped']])
  })

  it('lists the actions of operators on all replicas among the other changes, newest first', async () => {
    const { living, actions, look } = startMonitor()
    living.set('first', 1).set('second', 1)
    actions.set('first', [
      {
        time: 12_000,
        action: 'spool-purge',
        project: 'p/1',
        category: 'none',
        envelopes: 2,
        operator: '::1',
      },
    ])
    actions.set('second', [
      { time: 13_000, action: 'inbox-delete', envelopes: 1, client_address: '10.0.0.3' },
      { time: 11_000, action: 'spool-pause', operator: '192.0.2.7', client_address: '10.0.0.3' },
    ])
    await look()
    living.delete('first')
    const { changes } = await look()
    expect(changes.map(({ time, text }) => [time, text])).toEqual([
      [20_000, 'first stopped'],
      [13_000, 'Admin API client 10.0.0.3 deleted 1 envelope from the inbox'],
      [12_000, 'Operator ::1 purged 2 envelopes of p/1, no category'],
      [11_000, 'Operator 192.0.2.7 paused delivery of all projects'],
      [10_000, 'second started responding'],
      [10_000, 'first started responding'],
    ])
  })

  it('keeps the counts of all stopped replicas, and shows the last 20', async () => {
    const { living, look } = startMonitor()
    for (let n = 0; n < 300; n++) {
      living.set(`n${n}`, 1)
      await look()
      living.delete(`n${n}`)
    }
    const { totals, replicas } = await look()
    expect(totals.outcomes).toMatchObject([{ count: 300 }])
    expect(replicas).toHaveLength(20)
  })

  it('reports a replica without figures as responding, and adds nothing for it to the totals', async () => {
    const { living, look } = startMonitor()
    living.set('new', 7).set('earlier', undefined)
    const { replicas, totals } = await look()
    expect(replicas.map(({ name, state, envelopes }) => [name, state, envelopes])).toEqual([
      ['new', 'responding', 7],
      ['earlier', 'responding', undefined],
    ])
    expect(totals.outcomes).toMatchObject([{ count: 7 }])
  })
})
