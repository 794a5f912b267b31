/** `GET /figures` without parameters and `GET /history`, as long as web reads them. */

import type { ReplicaFigures } from 'contract/admin-api'
import type { History, HistoryRange } from 'contract/history'
import { UNAVAILABLE } from 'contract/rejections'
import type { Counters } from '../telemetry/counters.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { SnapshotRecorder } from '../telemetry/snapshot-recorder.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const RANGES: Readonly<Record<HistoryRange, { rangeMs: number; step: number }>> = {
  '15m': { rangeMs: 15 * MINUTE, step: MINUTE },
  '1h': { rangeMs: HOUR, step: MINUTE },
  '24h': { rangeMs: 24 * HOUR, step: 10 * MINUTE },
  '7d': { rangeMs: 7 * 24 * HOUR, step: HOUR },
}

export async function formerFigures(counters: Counters, metrics: Metrics): Promise<ReplicaFigures> {
  const { durations, upstreams } = counters.figures()
  const counted = counters.envelopes.filter(({ count }) => count > 0)
  return {
    outcomes: counted.map(({ outcome, reason, project, category, count }) => ({
      ...{ outcome, reason, project, category, count },
    })),
    items: counters.items.all().map(({ labels, count }) => ({ ...labels, count })),
    bytes: counted.map(({ outcome, project, category, bytes }) => ({
      ...{ outcome, project, category, count: bytes },
    })),
    final_outcomes: counters.finalOutcomes
      .filter(({ count }) => count > 0)
      .map(({ final_outcome, project, count }) => ({ final_outcome, project, count })),
    reach: counters.reach.all().map(({ labels, count }) => ({ ...labels, count })) as NonNullable<
      ReplicaFigures['reach']
    >,
    browser_errors: counted
      .filter(({ browserErrors }) => browserErrors > 0)
      .map(({ project, browserErrors }) => ({ project, count: browserErrors })),
    durations,
    upstream_durations: Object.fromEntries(
      Object.entries(upstreams).map(([origin, each]) => [origin, each.durations]),
    ),
    process: await metrics.load(),
  }
}

export async function formerHistory(
  snapshots: SnapshotRecorder,
  range: HistoryRange,
  to: number,
  project?: string,
): Promise<History> {
  const { rangeMs, step } = RANGES[range]
  const from = Math.floor((to - rangeMs) / step) * step
  const { points } = await snapshots.read({ from, to, step }, step, project)
  return {
    ...{ range, step_ms: step, from, to },
    points: points.map(({ outcomes: byReason, items: byOutcome, ...point }) => {
      const { received: _, upstreams: __, unknown: ___, ...counts } = point
      const unavailable = Object.entries(byReason).filter(([name]) =>
        UNAVAILABLE.has(name.split(':')[1] ?? ''),
      )
      return {
        ...counts,
        outcomes: sumByFirst(byReason),
        items: sumByFirst(byOutcome),
        unavailable: unavailable.reduce((sum, [, count]) => sum + count, 0),
      }
    }),
  }
}

function sumByFirst(counts: Record<string, number>): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const [name, count] of Object.entries(counts)) {
    const first = name.split(':')[0] ?? name
    sums[first] = (sums[first] ?? 0) + count
  }
  return sums
}
