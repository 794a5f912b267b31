/** Time range and minutes of the charts. */

import type { Point } from '../monitor/replica-monitor.ts'

/** Returns the growth of a total since the first point. */
export function growthOf(points: readonly Point[], totalOf: (point: Point) => number): number {
  const [first, last] = [points[0], points.at(-1)]
  return first && last ? totalOf(last) - totalOf(first) : 0
}

const MINUTE_MS = 60_000
const MAX_RANGE_MS = 15 * MINUTE_MS
const MIN_RANGE_MS = 3 * MINUTE_MS

/** Returns the start of a chart that ends with `last`. A short history fills the chart, but not with a few seconds. */
export function shownFrom(first: number, last: number): number {
  return Math.max(last - MAX_RANGE_MS, Math.min(first, last - MIN_RANGE_MS))
}

/** Groups points by minute, newest first. Each group begins with the point before the minute, so that growth can be computed. */
export function minutesOf(points: readonly Point[]): { time: number; points: Point[] }[] {
  const minutes = new Map<number, Point[]>()
  for (const [index, point] of points.entries()) {
    const before = points[index - 1]
    if (!before) continue
    const time = Math.floor(point.time / MINUTE_MS) * MINUTE_MS
    const group = minutes.get(time) ?? [before]
    minutes.set(time, [...group, point])
  }
  return [...minutes].map(([time, group]) => ({ time, points: group })).reverse()
}

const BUCKET_WIDTHS_MS = [10_000, 30_000, MINUTE_MS, 2 * MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS]
const MAX_BUCKETS = 40

/** Spans of time of equal width, after an empty one that ends with the first point. The last one ends with the last point. */
export type Buckets = {
  widthMs: number
  /** Ends, in milliseconds since 1970. */
  times: number[]
  /** Returns the growth of a total in each bucket. */
  countsOf: (totalOf: (point: Point) => number) => number[]
}

/** Divides a chart into at most `MAX_BUCKETS` buckets. */
export function bucketsOf(points: readonly Point[]): Buckets {
  const [first, last] = [points[0]?.time ?? 0, points.at(-1)?.time ?? 0]
  const isWideEnough = (width: number) => (last - first) / width <= MAX_BUCKETS
  const widthMs = BUCKET_WIDTHS_MS.find(isWideEnough) ?? Math.ceil((last - first) / MAX_BUCKETS)
  const groups = new Map<number, Point[]>()
  for (const [index, point] of points.entries()) {
    const before = points[index - 1]
    if (!before) continue
    const end = Math.ceil(point.time / widthMs) * widthMs
    groups.set(end, [...(groups.get(end) ?? [before]), point])
  }
  if (points.length === 0) return { widthMs, times: [], countsOf: () => [] }
  return {
    widthMs,
    times: [first, ...[...groups.keys()].map((end) => Math.min(end, last))],
    countsOf: (totalOf) => [0, ...[...groups.values()].map((group) => Math.max(0, growthOf(group, totalOf)))],
  }
}
