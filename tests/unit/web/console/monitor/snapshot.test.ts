/** Size and totals of the summary that an open console receives every two seconds. */

import { beforeAll, describe, expect, it } from 'vitest'
import type { Outcome, ReplicaFigures, ReplicaStatus } from '../../../../../contract/admin-api.ts'
import { Monitor } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { summarise } from '../../../../../web/features/console/monitor/snapshot.ts'
import { OTHERS } from '../../../../../web/features/console/monitor/upstreams.ts'

const KINDS = ['error', 'transaction', 'session']
const OUTCOME_NAMES: Outcome[] = ['delivered', 'spooled', 'rate_limited', 'rejected']
const MOST_BYTES = 20_000

/** Builds three replicas with `count` projects each, every project with rate limits and an own Sentry with an open breaker. */
async function summaryOf(projects: number) {
  const names = Array.from({ length: projects }, (_, n) => `o${n}.ingest.sentry.example/${n}`)
  const partitions = names.flatMap((project) => KINDS.map((category) => ({ project, category })))
  const figures: ReplicaFigures = {
    outcomes: partitions.flatMap((partition) =>
      OUTCOME_NAMES.map((outcome, n) => ({ ...partition, outcome, reason: '', count: n + 1 })),
    ),
    ...{ items: [], bytes: [], final_outcomes: [], durations: {}, upstream_durations: {} },
    process: { resident_bytes: 1, cpu_seconds: 1, event_loop_p99_seconds: 0 },
  }
  const statusOf = (replica: string): ReplicaStatus => ({
    ...{ version: '0.0.0', replica, since: 0, projects: names, in_flight: 0, addresses: 0 },
    warnings: [],
    actions: [],
    settings: {},
    dsns: names.map((name) => `https://key@${name}`),
    limits: partitions.map((partition, n) => ({ ...partition, until: partitions.length - n })),
    upstreams: names.map((name) => ({
      origin: `https://${name.split('/')[0]}`,
      breaker: { open: true, since: 1, next_probe: 2 },
      last_error: { class: 'dns', code: 'ENOTFOUND', first: 1, last: 3, count: 4 },
    })),
    spool: {
      ...{ id: 'shared', writable: true, since: 0, max_bytes: 1, project_max_bytes: 1, max_age_ms: 1 },
      ...{ envelopes: partitions.length, bytes: 1 },
      partitions: partitions.map((partition) => ({ ...partition, envelopes: 1, bytes: 1 })),
      attempts: names.map((project) => ({ project, result: 'undecided', attempts: 1 })),
      paused: names.map((project) => ({ project, since: 0 })),
    },
  })
  let time = 0
  const monitor = new Monitor({
    origins: async () => ['http://a', 'http://b', 'http://c'],
    ask: async (origin) => ({ status: statusOf(origin), figures }),
    now: () => (time += 2_000),
  })
  await monitor.refresh()
  return { overview: summarise(await monitor.refresh()), history: monitor.history() }
}

describe('summarise', () => {
  let many: Awaited<ReturnType<typeof summaryOf>>

  beforeAll(async () => {
    many = await summaryOf(1_000)
  })

  it('stays below 20,000 characters with a thousand projects, and each point of the history below 1,000', () => {
    const { overview, history } = many
    expect(JSON.stringify(overview).length).toBeLessThan(MOST_BYTES)
    for (const point of history) expect(JSON.stringify(point).length).toBeLessThan(1_000)
  })

  it('returns the first 20 of each list and its length', () => {
    const { limits, openBreakers, spools, upstreams, point } = many.overview
    expect([limits.total, openBreakers.total, spools[0]?.paused.total]).toEqual([3_000, 1_000, 1_000])
    expect(limits.shown.map(({ until }) => until)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
    expect(openBreakers.shown[0]).toEqual({
      ...{ origin: 'https://o0.ingest.sentry.example', by: 3, of: 3, since: 1, nextProbe: 2 },
      error: { class: 'dns', code: 'ENOTFOUND', first: 1, last: 3, count: 12 },
    })
    expect(upstreams.map(({ name, hosts, limited, open }) => [name, hosts, limited, open.total])).toEqual([
      ['o0.ingest.sentry.example', 1, 3, 1],
      ['o1.ingest.sentry.example', 1, 3, 1],
      ['o2.ingest.sentry.example', 1, 3, 1],
      [OTHERS, 997, 997 * 3, 997],
    ])
    expect(point.outcomes).toEqual({
      delivered: 9_000,
      spooled: 18_000,
      rate_limited: 27_000,
      rejected: 36_000,
    })
    const delivered = Object.values(point.upstreams).map((upstream) => upstream.delivered)
    expect(delivered).toEqual([9, 9, 9, 997 * 9])
  })

  it('returns four servers separately', async () => {
    const { overview } = await summaryOf(4)
    expect(overview.upstreams.map(({ hosts }) => hosts)).toEqual([1, 1, 1, 1])
  })
  it('returns the error of each server, counted over all replicas', async () => {
    const { overview } = await summaryOf(5)
    const [first] = overview.upstreams
    expect(first?.error).toEqual({ class: 'dns', code: 'ENOTFOUND', first: 1, last: 3, count: 12 })
    expect(overview.upstreams.at(-1)).not.toHaveProperty('error')
  })
})
