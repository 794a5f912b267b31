/** Time range, spans and buckets of the charts. */

import type { Point } from '../monitor/replica-monitor.ts'
import { LIVE_RANGE, type Range } from './range/range.ts'

/** Returns the growth of a total since the first point. */
export function growthOf(points: readonly Point[], totalOf: (point: Point) => number): number {
  const [first, last] = [points[0], points.at(-1)]
  return first && last ? totalOf(last) - totalOf(first) : 0
}

const MINUTE_MS = 60_000
const MIN_RANGE_MS = 3 * MINUTE_MS

/** Returns the start of a chart that ends with `last`. A short live history fills the chart, but not with a few seconds. */
export function shownFrom(first: number, last: number, { key, ms }: Range): number {
  if (key !== LIVE_RANGE.key) return last - ms
  return Math.max(last - ms, Math.min(first, last - MIN_RANGE_MS))
}

/** Groups points by spans of time, newest first. Each group begins with the point before the span, so that growth can be computed. */
export function spansOf(points: readonly Point[], stepMs: number): { time: number; points: Point[] }[] {
  const spans = new Map<number, Point[]>()
  for (const [index, point] of points.entries()) {
    const before = points[index - 1]
    if (!before || point.isGap) continue
    const time = Math.floor((point.time - 1) / stepMs) * stepMs
    const group = spans.get(time) ?? [before]
    spans.set(time, [...group, point])
  }
  return [...spans].map(([time, group]) => ({ time, points: group })).reverse()
}

const BUCKET_WIDTHS_MS = [10_000, 30_000, MINUTE_MS, 2 * MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS]
const MAX_BUCKETS = 40

/** Spans of time of equal width, after an empty one that ends with the first point. The last one ends with the last point. */
export type Buckets = {
  widthMs: number
  /** Ends, in milliseconds since 1970. */
  times: number[]
  /** Returns the growth of a total in each bucket; `null` for a gap. */
  countsOf: (totalOf: (point: Point) => number) => (number | null)[]
}

/** Divides a chart into buckets of `givenMs`, or into at most `MAX_BUCKETS` buckets. */
export function bucketsOf(points: readonly Point[], givenMs?: number): Buckets {
  const [first, last] = [points[0]?.time ?? 0, points.at(-1)?.time ?? 0]
  const isWideEnough = (width: number) => (last - first) / width <= MAX_BUCKETS
  const widthMs = givenMs ?? BUCKET_WIDTHS_MS.find(isWideEnough) ?? Math.ceil((last - first) / MAX_BUCKETS)
  const groups = new Map<number, Point[]>()
  for (const [index, point] of points.entries()) {
    const before = points[index - 1]
    if (!before) continue
    const end = Math.ceil(point.time / widthMs) * widthMs
    const group = groups.get(end) ?? []
    if (point.isGap) groups.set(end, group)
    else groups.set(end, [...(group.length > 0 ? group : [before]), point])
  }
  if (points.length === 0) return { widthMs, times: [], countsOf: () => [] }
  return {
    widthMs,
    times: [first, ...[...groups.keys()].map((end) => Math.min(end, last))],
    countsOf: (totalOf) => [
      0,
      ...[...groups.values()].map((group) =>
        group.length > 0 ? Math.max(0, growthOf(group, totalOf)) : null,
      ),
    ],
  }
}
