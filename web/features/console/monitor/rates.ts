/** Rates per second, derived from totals at several times. */

type Timed = { time: number }

/** Samples are 2 s or 10 s apart. A rate covers this time, so that both look alike. */
const RATE_OVER_MS = 10_000

/** Samples that cover `RATE_OVER_MS`. */
export const SAMPLES_FOR_RATE = 8

/** Returns the growth of a total per second at each point except the first. */
export function ratesOf<T extends Timed>(points: readonly T[], totalOf: (point: T) => number): number[] {
  let from = 0
  return points.slice(1).map((point, index) => {
    while (from < index && (points[from + 1]?.time ?? 0) <= point.time - RATE_OVER_MS) from++
    const before = points[from] ?? point
    const seconds = (point.time - before.time) / 1000
    return seconds > 0 ? Math.max(0, totalOf(point) - totalOf(before)) / seconds : 0
  })
}

export function rateNow<T extends Timed>(points: readonly T[], totalOf: (point: T) => number): number {
  return ratesOf(points.slice(-SAMPLES_FOR_RATE), totalOf).at(-1) ?? 0
}
