/** Rates per second from totals at several times. */

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
