/** The watch over the replicas, by a clock and answers of our own: what it adds up stays true, whoever comes, goes and comes back. */

import { describe, expect, it } from 'vitest'
import type { ReplicaStatus } from '../../../../../tunnel/src/contract.ts'
import { rateNow } from '../../../../../web/features/console/monitor/rates.ts'
import { createMonitor } from '../../../../../web/features/console/monitor/replica-monitor.ts'

const statusOf = (replica: string): ReplicaStatus => ({
  ...{ version: '0.0.0', replica, since: 0, settings: {}, dsns: [], projects: [], in_flight: 0, limits: [] },
  ...{ upstreams: [], addresses: 0, warnings: [] },
})

const metricsOf = (count: number) =>
  [
    `culvert_envelopes_total{outcome="delivered",reason="",project="p/1",category="error"} ${count}`,
    `culvert_items_total{type="event",outcome="delivered"} ${count}`,
    `culvert_envelope_bytes_total{outcome="delivered",project="p/1",category="error"} ${count * 10}`,
    `culvert_spool_final_outcomes_total{final_outcome="delivered",project="p/1"} ${count}`,
    `culvert_request_duration_seconds_bucket{le="+Inf"} ${count}`,
    `culvert_upstream_request_duration_seconds_bucket{le="+Inf",upstream="https://p"} ${count}`,
  ].join('\n')

/** Replicas at origins of their names, and how many envelopes each has counted. */
function startWatch() {
  const living = new Map<string, number>()
  let time = 0
  const watch = createMonitor({
    origins: async () => [...living.keys()].map((name) => `http://${name}`),
    ask: async (origin) => {
      const name = origin.slice('http://'.length)
      return { status: statusOf(name), metrics: metricsOf(living.get(name) ?? 0) }
    },
    now: () => time,
  })
  return {
    living,
    history: watch.history,
    look: (afterMs = 10_000) => {
      time += afterMs
      return watch.look(0)
    },
  }
}

describe('The watch', () => {
  it('gives the rates of replicas over the time of that of all, so that they add up on a quiet site too', async () => {
    const { living, look, history } = startWatch()
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
      const all = rateNow(history(), ({ answers }) => answers.delivered ?? 0)
      expect(all).toBeGreaterThan(0)
      expect(replicas.reduce((sum, { rate }) => sum + rate, 0)).toBeCloseTo(all)
    }
  })

  it('takes what was counted before it heard of any replica for no growth', async () => {
    const { living, look, history } = startWatch()
    await look()
    expect(history()).toEqual([])
    living.set('first', 1_000)
    await look()
    living.set('first', 1_003)
    await look()
    expect(history().map(({ answers }) => answers)).toEqual([{ delivered: 1_000 }, { delivered: 1_003 }])
  })

  it('counts a replica once that comes back after many others have ended', async () => {
    const { living, look } = startWatch()
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
    expect(replicas.find(({ name }) => name === 'first')?.state).toBe('answering')
    expect(totals).toEqual({
      outcomes: [{ outcome: 'delivered', reason: '', project: 'p/1', category: 'error', count: 131 }],
      items: [{ type: 'event', outcome: 'delivered', count: 131 }],
      bytes: [{ outcome: 'delivered', project: 'p/1', category: 'error', count: 1_310 }],
      finalOutcomes: [{ finalOutcome: 'delivered', project: 'p/1', count: 131 }],
      within: { '+Inf': 131 },
      upstreams: { p: { '+Inf': 131 } },
    })
  })

  it('keeps the counts of all that have ended, and shows the last twenty of them', async () => {
    const { living, look } = startWatch()
    for (let n = 0; n < 300; n++) {
      living.set(`n${n}`, 1)
      await look()
      living.delete(`n${n}`)
    }
    const { totals, replicas } = await look()
    expect(totals.outcomes).toMatchObject([{ count: 300 }])
    expect(replicas).toHaveLength(20)
  })
})
