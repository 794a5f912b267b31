/** Recent losses: growth of the counters of each replica within 2 minutes. */

import { describe, expect, it } from 'vitest'
import type { ReplicaFigures, ReplicaStatus } from '../../../../../contract/admin-api.ts'
import { Monitor } from '../../../../../web/features/console/monitor/replica-monitor.ts'

const statusOf = (replica: string): ReplicaStatus => ({
  ...{ version: '0.0.0', replica, since: 0, settings: {}, dsns: [], projects: [], in_flight: 0, limits: [] },
  ...{ upstreams: [], addresses: 0, warnings: [], actions: [] },
})

const figuresOf = (lost: number): ReplicaFigures => ({
  outcomes: [
    { outcome: 'rejected', reason: 'spool-full', project: 'p/1', category: 'error', count: lost },
    { outcome: 'rejected', reason: 'dsn-unknown', project: 'p/1', category: 'error', count: lost * 10 },
  ],
  ...{ items: [], bytes: [], final_outcomes: [], durations: {}, upstream_durations: {} },
  process: { resident_bytes: 1, cpu_seconds: 0, event_loop_p99_seconds: 0 },
})

/** Polls replicas by name, each with its number of lost envelopes. */
function startMonitor() {
  let time = 0
  let lost: Record<string, number> = {}
  const monitor = new Monitor({
    origins: async () => Object.keys(lost).map((name) => `http://${name}`),
    ask: async (origin) => {
      const name = origin.slice('http://'.length)
      return { status: statusOf(name), figures: figuresOf(lost[name] ?? 0) }
    },
    now: () => time,
  })
  return async (replicas: Record<string, number>, afterMs = 10_000) => {
    time += afterMs
    lost = replicas
    const { problems, okSince } = await monitor.snapshot(0)
    return { problems, okSince, time }
  }
}

const losing = (unavailable: number) => ({
  problems: [{ kind: 'losing', losses: { expired: 0, unavailable, vanished: 0 } }],
  okSince: undefined,
})

describe('Recent losses', () => {
  it('are a problem for 2 minutes after a full spool has rejected envelopes', async () => {
    const poll = startMonitor()
    expect(await poll({ a: 0 })).toMatchObject({ problems: [], okSince: 10_000 })
    expect(await poll({ a: 3 })).toMatchObject(losing(3))
    expect(await poll({ a: 5 }, 60_000)).toMatchObject(losing(5))
    expect(await poll({ a: 5 }, 60_000)).toMatchObject(losing(2))
    const { problems, okSince, time } = await poll({ a: 5 }, 60_000)
    expect({ problems, okSince }).toEqual({ problems: [], okSince: time })
  })

  it('are not the earlier losses of a new replica', async () => {
    const poll = startMonitor()
    expect(await poll({ a: 7 })).toMatchObject({ problems: [] })
    expect(await poll({ a: 7, b: 100 })).toMatchObject({ problems: [] })
    expect(await poll({ a: 8, b: 101, c: 50 })).toMatchObject(losing(2))
  })

  it('include those of a replica that has stopped', async () => {
    const poll = startMonitor()
    await poll({ a: 0, b: 0 })
    await poll({ a: 0, b: 4 })
    expect(await poll({ a: 0 })).toMatchObject(losing(4))
  })
})
