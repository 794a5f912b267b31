/** Sums of figures. */

import { describe, expect, it } from 'vitest'
import { sumFigures } from '../../../../../contract/figures.ts'
import {
  percentilesOf,
  recentCounts,
  spansOf,
  sumByName,
} from '../../../../../web/features/console/figures/figure-sums.ts'
import { figuresOf, MINUTE, pointAt } from '../../../../support/web/figures.ts'

it('sumByName adds up outcomes over their reasons', () => {
  expect(sumByName({ delivered: 1, 'rejected:spool-full': 2, 'rejected:too-large': 3 })).toEqual({
    delivered: 1,
    rejected: 5,
  })
})

describe('recentCounts', () => {
  const counted = [8, 9, 10].map((minute) => pointAt(minute, { received: minute, bytes: 10 }))

  it('covers the last complete minute and the running one', () => {
    expect(recentCounts(figuresOf(counted))).toMatchObject({ counts: { received: 19 }, seconds: 90 })
  })

  it('covers only the running minute of a site that has just started', () => {
    expect(recentCounts(figuresOf(counted.slice(2)))).toMatchObject({ counts: { received: 10 }, seconds: 30 })
    expect(recentCounts(figuresOf([]))).toMatchObject({ counts: { received: 0 } })
  })
})

describe('spansOf', () => {
  it('has a span for each step, without a point where no replica ran', () => {
    const spans = spansOf(figuresOf([pointAt(0), pointAt(2)], { to: 2.5 * MINUTE }))
    expect(spans.map(({ time, end, point }) => [time / MINUTE, end / MINUTE, point?.replicas])).toEqual([
      [0, 1, 1],
      [1, 2, undefined],
      [2, 2.5, 1],
    ])
  })
})

describe('percentilesOf', () => {
  it('are those of all durations', () => {
    const { durations } = sumFigures([
      pointAt(1, { durations: { 0.1: 98, 0.5: 98, 1: 98, '+Inf': 98 } }),
      pointAt(2, { durations: { 1: 2, '+Inf': 2 } }),
    ])
    expect(percentilesOf(durations)).toEqual({ p50: 0.1, p95: 0.1, p99: 1 })
  })

  it('are absent without a response, and 10 s when every response took longer', () => {
    expect(percentilesOf({})).toEqual({})
    expect(percentilesOf({ 10: 0, '+Inf': 0 })).toEqual({})
    expect(percentilesOf({ '+Inf': 4 })).toEqual({ p50: 10, p95: 10, p99: 10 })
  })
})
