/** The last quarter of an hour: from totals at one time and another, rates to draw and whole minutes to read. */

import type { Point } from '../monitor/replica-monitor.ts'

type Timed = { time: number }

/** Looks follow each other by 2 s or by 10 s; a rate is taken over this long, so that both are drawn alike. */
const RATE_OVER_MS = 10_000

/** How much a total grew, a second, at each point but the first, with which there is nothing to compare. */
export function ratesOf<T extends Timed>(points: readonly T[], totalOf: (point: T) => number): number[] {
  let from = 0
  return points.slice(1).map((point, index) => {
    while (from < index && (points[from + 1]?.time ?? 0) <= point.time - RATE_OVER_MS) from++
    const before = points[from] ?? point
    const seconds = (point.time - before.time) / 1000
    return seconds > 0 ? Math.max(0, totalOf(point) - totalOf(before)) / seconds : 0
  })
}

/** Looks that reach back as far as a rate is taken over. */
export const LOOKS_FOR_RATE = 8

/** The rate just now. */
export function rateNow<T extends Timed>(points: readonly T[], totalOf: (point: T) => number): number {
  return ratesOf(points.slice(-LOOKS_FOR_RATE), totalOf).at(-1) ?? 0
}

/** How much a total grew since the first point. */
export function growthOf(points: readonly Point[], totalOf: (point: Point) => number): number {
  const [first, last] = [points[0], points.at(-1)]
  return first && last ? totalOf(last) - totalOf(first) : 0
}

const MINUTE_MS = 60_000

const SHOWN_MS = 15 * 60 * 1000 // 15 min
const LEAST_MS = 3 * 60 * 1000 // 3 min

/** Where a drawing begins that ends with `last`: with what is known, so that the first minutes fill it, and no line is a mere stroke. */
export function shownFrom(first: number, last: number): number {
  return Math.max(last - SHOWN_MS, Math.min(first, last - LEAST_MS))
}

/** The points of each minute of the clock, newest minute first, with the point before them: what grew meanwhile, grew in that minute. */
export function minutesOf(points: readonly Point[]): { time: number; points: Point[] }[] {
  const minutes = new Map<number, Point[]>()
  for (const [index, point] of points.entries()) {
    const before = points[index - 1]
    if (!before) continue
    const time = Math.floor(point.time / MINUTE_MS) * MINUTE_MS
    const its = minutes.get(time) ?? [before]
    minutes.set(time, [...its, point])
  }
  return [...minutes].map(([time, its]) => ({ time, points: its })).reverse()
}
