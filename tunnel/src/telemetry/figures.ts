/** Reads the counters of a registry as the JSON of `GET /figures`. */

import type { DurationCounts, ReplicaFigures } from 'contract/admin-api'
import type { Registry } from 'prom-client'

type Sample = { labels: Record<string, string>; value: number }

export async function readFigures(registry: Registry): Promise<ReplicaFigures> {
  const samples = async (name: string) =>
    ((await registry.getSingleMetric(`culvert_${name}`)?.get())?.values ?? []) as Sample[]
  const counts = async <T>(name: string) =>
    (await samples(name)).flatMap(({ labels, value }) =>
      value > 0 ? [{ ...labels, count: value } as T] : [],
    )
  const upstreams = Map.groupBy(
    await samples('upstream_request_duration_seconds'),
    ({ labels }) => labels.upstream ?? '',
  )
  await samples('nodejs_eventloop_lag_seconds') // its collector sets the percentiles, too
  const [eventLoop] = await samples('nodejs_eventloop_lag_p99_seconds')
  const { user, system } = process.cpuUsage()
  return {
    outcomes: await counts('envelopes_total'),
    items: await counts('items_total'),
    bytes: await counts('envelope_bytes_total'),
    final_outcomes: await counts('spool_final_outcomes_total'),
    reach: await counts('reach_tests_total'),
    browser_errors: await counts('browser_errors_total'),
    durations: bucketsOf(await samples('request_duration_seconds')),
    upstream_durations: Object.fromEntries([...upstreams].map(([origin, its]) => [origin, bucketsOf(its)])),
    process: {
      resident_bytes: process.memoryUsage.rss(),
      cpu_seconds: (user + system) / 1_000_000,
      event_loop_p99_seconds: eventLoop?.value ?? 0,
    },
  }
}

/** Adds up the buckets of a histogram over its other labels. */
function bucketsOf(samples: readonly Sample[]): DurationCounts {
  const counts: DurationCounts = {}
  for (const { labels, value } of samples)
    if (labels.le !== undefined) counts[labels.le] = (counts[labels.le] ?? 0) + value
  return counts
}
