/** Buckets of the charts. */

import { describe, expect, it } from 'vitest'
import type { Point } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { bucketsOf, growthOf, spansOf } from '../../../../../web/features/console/overview/history.ts'

/** Point with a total of bytes at a time in seconds. */
const pointAt = (seconds: number, bytes: number): Point => ({
  ...{ time: seconds * 1000, outcomes: {}, finalOutcomes: {}, categories: {}, items: {}, upstreams: {} },
  ...{ bytes, pending: 0 },
})

const totalOf = ({ bytes }: Point) => bytes

it('counts one envelope once, in the bucket that ends after it', () => {
  const totals = [5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6]
  const { widthMs, times, countsOf } = bucketsOf(
    totals.map((total, index) => pointAt(100 + 2 * index, total)),
  )
  expect(widthMs).toBe(10_000)
  expect(times).toEqual([100_000, 110_000, 120_000])
  expect(countsOf(totalOf)).toEqual([0, 1, 0])
})

it('ends the last bucket with the last point', () => {
  expect(bucketsOf([pointAt(100, 0), pointAt(110, 1), pointAt(113, 3)])).toMatchObject({
    times: [100_000, 110_000, 113_000],
  })
})

it.each([
  [180, 10_000],
  [400, 10_000],
  [900, 30_000],
  [3_600, 120_000],
  [86_400, 2_160_000],
])('divides %i s into at most 42 buckets, of %i ms', (seconds, widthMs) => {
  const points = Array.from({ length: 1_000 }, (_, index) => pointAt((seconds * index) / 999, index))
  const buckets = bucketsOf(points)
  expect(buckets.widthMs).toBe(widthMs)
  expect(buckets.times.length).toBeLessThanOrEqual(42)
  expect(buckets.countsOf(totalOf).reduce<number>((sum, count) => sum + (count ?? 0), 0)).toBe(999)
})

it('draws no negative count when a replica has started again', () => {
  expect(bucketsOf([pointAt(0, 9), pointAt(10, 2)]).countsOf(totalOf)).toEqual([0, 0])
})

describe('a gap', () => {
  const points = [
    pointAt(0, 0),
    pointAt(60, 5),
    { ...pointAt(180, 5), isGap: true as const },
    pointAt(240, 7),
  ]

  it('is no zero: it has no count', () => {
    const { times, countsOf } = bucketsOf(points, 60_000)
    expect(times).toEqual([0, 60_000, 180_000, 240_000])
    expect(countsOf(totalOf)).toEqual([0, 5, null, 2])
  })

  it('has no row in the table', () => {
    const rows = spansOf(points, 60_000).map(({ time, points: group }) => [time, growthOf(group, totalOf)])
    expect(rows).toEqual([
      [180_000, 2],
      [0, 5],
    ])
  })

  it('does not hide the counts of a bucket in which it ends', () => {
    expect(bucketsOf(points, 240_000).countsOf(totalOf)).toEqual([0, 7])
  })
})
