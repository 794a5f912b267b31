/** What an open console is told every two seconds: as much as a page shows, however many projects, servers and limits there are. */

import { beforeAll, describe, expect, it } from 'vitest'
import type { ReplicaStatus } from '../../../../../tunnel/src/contract.ts'
import { createMonitor } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { overviewOf } from '../../../../../web/features/console/monitor/snapshot.ts'
import { OTHERS } from '../../../../../web/features/console/monitor/upstreams.ts'

const KINDS = ['error', 'transaction', 'session']
const OUTCOME_NAMES = ['delivered', 'spooled', 'rate_limited', 'rejected']
const MOST_BYTES = 20_000

/** Three replicas of so many projects, each of which is sent and limited everything, at a Sentry of its own, which is not asked. */
async function lookAt(projects: number) {
  const names = Array.from({ length: projects }, (_, n) => `o${n}.ingest.sentry.example/${n}`)
  const partitions = names.flatMap((project) => KINDS.map((category) => ({ project, category })))
  const metrics = partitions.flatMap(({ project, category }) =>
    OUTCOME_NAMES.map(
      (answer, n) =>
        `culvert_envelopes_total{outcome="${answer}",reason="",project="${project}",category="${category}"} ${n + 1}`,
    ),
  )
  const statusOf = (replica: string): ReplicaStatus => ({
    ...{ version: '0.0.0', replica, since: 0, projects: names, in_flight: 0, addresses: 0, warnings: [] },
    settings: {},
    dsns: names.map((name) => `https://key@${name}`),
    limits: partitions.map((partition, n) => ({ ...partition, until: partitions.length - n })),
    upstreams: names.map((name) => ({
      origin: `https://${name.split('/')[0]}`,
      breaker: { open: true, since: 1, next_probe: 2 },
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
  const watch = createMonitor({
    origins: async () => ['http://a', 'http://b', 'http://c'],
    ask: async (origin) => ({ status: statusOf(origin), metrics: metrics.join('\n') }),
    now: () => (time += 2_000),
  })
  await watch.lookAnew()
  return { glance: overviewOf(await watch.lookAnew()), history: watch.history() }
}

describe('A glance at all replicas', () => {
  let many: Awaited<ReturnType<typeof lookAt>>

  beforeAll(async () => {
    many = await lookAt(1_000)
  })

  it('is small with a thousand projects, and so is each point of the past', () => {
    const { glance, history } = many
    expect(JSON.stringify(glance).length).toBeLessThan(MOST_BYTES)
    for (const point of history) expect(JSON.stringify(point).length).toBeLessThan(1_000)
  })

  it('counts all of what it names the first of', () => {
    const { limits, notAsked, spools, ways, point } = many.glance
    expect([limits.all, notAsked.all, spools[0]?.paused.all]).toEqual([3_000, 1_000, 1_000])
    expect(limits.first.map(({ until }) => until)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
    expect(notAsked.first[0]).toEqual({
      ...{ origin: 'https://o0.ingest.sentry.example', by: 3, of: 3, since: 1, nextProbe: 2 },
    })
    expect(ways.map(({ name, hosts, held, open }) => [name, hosts, held, open.all])).toEqual([
      ['o0.ingest.sentry.example', 1, 3, 1],
      ['o1.ingest.sentry.example', 1, 3, 1],
      ['o2.ingest.sentry.example', 1, 3, 1],
      [OTHERS, 997, 997 * 3, 997],
    ])
    expect(point.answers).toEqual({
      delivered: 9_000,
      spooled: 18_000,
      rate_limited: 27_000,
      rejected: 36_000,
    })
    const delivered = Object.values(point.upstreams).map((upstream) => upstream.delivered)
    expect(delivered).toEqual([9, 9, 9, 997 * 9])
  })

  it('shows each of four servers by itself', async () => {
    const { glance } = await lookAt(4)
    expect(glance.ways.map(({ hosts }) => hosts)).toEqual([1, 1, 1, 1])
  })
})
