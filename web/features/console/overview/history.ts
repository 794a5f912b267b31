/** Window and minutes of the last quarter of an hour, from totals that replicas told at several times. */

import type { Point } from '../monitor/replica-monitor.ts'

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
