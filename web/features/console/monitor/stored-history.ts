/** Points of the charts, made from the history that the tunnels store. */

import type { History, HistoryPoint } from 'contract/history'
import { addRecords, percentilesOf } from './figures.ts'
import type { LossCounts } from './losses.ts'
import type { Point } from './replica-monitor.ts'

export type StoredHistory = {
  /** Length of the span of a point. */
  stepMs: number
  /** Totals since the start of the range. Spans without data end with a gap. */
  points: Point[]
  totals: Pick<Point, 'outcomes' | 'finalOutcomes' | 'categories'>
  /** Reach tests of browsers by result. */
  reach: Record<string, number>
  /** Errors from browsers that were delivered or spooled. */
  browserErrors: number
  /** Lost envelopes of the range. */
  losses: LossCounts
}

type Totals = Pick<Point, 'outcomes' | 'categories' | 'items' | 'finalOutcomes' | 'bytes'>

const MINUTE_MS = 60_000
const NO_TOTALS: Totals = { outcomes: {}, categories: {}, items: {}, finalOutcomes: {}, bytes: 0 }

/** Adds up the histories of several spools, one for each. Returns `undefined` without any. */
export function storedHistoryOf(histories: readonly History[]): StoredHistory | undefined {
  const [history] = histories
  if (!history) return undefined
  const { step_ms: stepMs, to } = history
  const end = Math.floor(to / MINUTE_MS) * MINUTE_MS // the minute in progress is incomplete
  const used = histories.flatMap(({ points }) => points.filter(({ time }) => time < end))
  const spans = Map.groupBy(used, ({ time }) => time)
  const points: Point[] = []
  let totals = NO_TOTALS
  for (const [time, its] of [...spans].sort(([a], [b]) => a - b)) {
    if (points.at(-1)?.time !== time) points.push({ ...pointOf(time, totals), isGap: true })
    totals = its.reduce(addSpan, totals)
    points.push({
      ...pointOf(Math.min(time + stepMs, end), totals),
      ...percentilesOf({}, its.map(({ durations }) => durations).reduce(addRecords, {})),
      pending: sumOf(its.map(({ pending = 0 }) => pending)),
    })
  }
  if (points.at(-1)?.time !== end) points.push({ ...pointOf(end, totals), isGap: true })
  const losses = {
    expired: totals.finalOutcomes.expired ?? 0,
    unavailable: sumOf(used.map(({ unavailable }) => unavailable)),
    vanished: sumOf(used.map(({ vanished }) => vanished)),
  }
  const reach = used.map(({ reach: tests = {} }) => tests).reduce(addRecords, {})
  const browserErrors = sumOf(used.map(({ browser_errors: errors = 0 }) => errors))
  return { stepMs, points, totals, reach, browserErrors, losses }
}

/** Puts stored points before live ones. Between them is a gap: the live ones begin in the middle of a span. */
export function continueWith(stored: readonly Point[], live: readonly Point[]): Point[] {
  const [first, ...rest] = live
  const before = stored.filter(({ time }) => !first || time <= first.time)
  const last = before.at(-1)
  if (!first || !last) return [...live]
  const shifted = before.map((point) => ({ ...point, ...shift(point, last, first) }))
  return [...shifted, { ...first, isGap: true }, ...rest]
}

function pointOf(time: number, totals: Totals): Point {
  return { ...totals, time, pending: 0, upstreams: {} }
}

function addSpan(totals: Totals, span: HistoryPoint): Totals {
  return {
    outcomes: addRecords(totals.outcomes, span.outcomes),
    categories: addRecords(totals.categories, span.categories),
    items: addRecords(totals.items, span.items),
    finalOutcomes: addRecords(totals.finalOutcomes, span.final_outcomes),
    bytes: totals.bytes + span.bytes,
  }
}

/** Returns totals that end with those of `to` where the given ones end with those of `from`. */
function shift(totals: Totals, from: Totals, to: Totals): Totals {
  const each = (name: 'outcomes' | 'categories' | 'items' | 'finalOutcomes') =>
    addRecords(addRecords(totals[name], to[name]), negate(from[name]))
  return {
    ...{ outcomes: each('outcomes'), categories: each('categories'), items: each('items') },
    ...{ finalOutcomes: each('finalOutcomes'), bytes: totals.bytes + to.bytes - from.bytes },
  }
}

function negate(record: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(record).map(([name, count]) => [name, -count]))
}

function sumOf(all: readonly number[]): number {
  return all.reduce((sum, each) => sum + each, 0)
}
