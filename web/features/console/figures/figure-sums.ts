/** Sums of figures over time, rates and percentiles, for charts and lists of the console. */

import type { Outcome } from 'contract/admin-api'
import {
  type DurationCounts,
  type FigureCounts,
  type Figures,
  type FiguresPoint,
  sumFigures,
} from 'contract/figures'
import { lossesOf } from 'contract/situation/losses'

type Counts = Record<string, number>

/** Figures of a range without those of upstreams, which no chart shows. */
export type RangeFigures = Omit<Figures, 'points' | 'replicas'> & { points: RangePoint[] }
export type RangePoint = Omit<FiguresPoint, 'upstreams'>

/** Sums up counts by the part of their names before the colon: outcomes without reasons, or types of items. */
export function sumByName(counts: Counts): Counts {
  const sums: Counts = {}
  for (const [name, count] of Object.entries(counts)) {
    const [part = ''] = name.split(':')
    sums[part] = (sums[part] ?? 0) + count
  }
  return sums
}

/** Outcomes in which envelopes are counted once: those that Culvert rejected with 503 are `lost`. */
export type CountedOutcome = Outcome | 'lost'

/** Sums up envelopes by outcome, without those that were lost later. */
export function sumOutcomes(counts: Pick<FigureCounts, 'outcomes'>): Record<CountedOutcome, number> {
  const { unavailable: lost } = lossesOf({ ...counts, final_outcomes: {}, vanished: 0 })
  const { rejected = 0, ...sums } = sumByName(counts.outcomes)
  return { ...NO_OUTCOMES, ...sums, rejected: rejected - lost, lost }
}

const NO_OUTCOMES = {
  ...{ delivered: 0, spooled: 0, deferred: 0, rate_limited: 0, filtered: 0 },
  ...{ rejected: 0, declined: 0, aborted: 0, lost: 0 },
}

/** Counts of the last complete minute and of the running one. */
export type RecentCounts = { counts: FigureCounts; seconds: number }

/** Returns the counts from which rates are computed; from figures in steps of a minute. */
export function recentCounts({ points, to, step }: Figures): RecentCounts {
  const running = Math.floor(to / step) * step
  const recent = points.filter(({ time }) => time >= running - step)
  return { counts: sumFigures(recent), seconds: Math.max(1, (to - (recent[0]?.time ?? running)) / 1000) }
}

/** Span of a range, with its point; without one where no replica ran. */
export type Span = { time: number; end: number; point?: RangePoint }

export function spansOf({ from, to, step, points }: RangeFigures): Span[] {
  const byTime = new Map(points.map((point) => [point.time, point]))
  return Array.from({ length: Math.ceil((to - from) / step) }, (_, index) => {
    const time = from + index * step
    const point = byTime.get(time)
    return { time, end: Math.min(time + step, to), ...(point && { point }) }
  })
}

/** Last bound of the tunnel's histograms. */
const LONGEST_SECONDS = 10

/** Percentiles in seconds; absent when there was no response. A response that took longer than the last bound counts as that bound. */
export type DurationPercentiles = { p50?: number; p95?: number; p99?: number }

export function percentilesOf(durations: DurationCounts): DurationPercentiles {
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantile(share, durations))
  return p50 === undefined || p95 === undefined || p99 === undefined ? {} : { p50, p95, p99 }
}

function quantile(share: number, durations: DurationCounts): number | undefined {
  const bounds = Object.keys(durations).sort((a, b) => toSeconds(a) - toSeconds(b))
  const counts = bounds.map((bound) => durations[bound] ?? 0)
  const total = counts.at(-1) ?? 0
  if (total <= 0) return undefined
  const bound = toSeconds(bounds[counts.findIndex((count) => count >= total * share)] ?? '')
  if (Number.isFinite(bound)) return bound
  const longest = bounds.at(-2) // empty buckets are left out
  return longest === undefined ? LONGEST_SECONDS : toSeconds(longest)
}

function toSeconds(bound: string): number {
  return bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound)
}
