/** Sums of figures. */

import { describe, expect, it } from 'vitest'
import { sumFigures } from '../../../../../contract/figures.ts'
import {
  mergeFigures,
  percentilesOf,
  recentCounts,
  spansOf,
  sumByName,
} from '../../../../../web/features/console/figures/figure-sums.ts'
import { figuresOf, MINUTE, pointAt } from '../../../../support/web/figures.ts'

describe('mergeFigures', () => {
  it('returns undefined without any, and the figures of a single store', () => {
    const figures = figuresOf([pointAt(1, { received: 1 })])
    expect(mergeFigures([])).toBeUndefined()
    expect(mergeFigures([figures])).toBe(figures)
  })

  it('adds up the points of stores by their times', () => {
    const upstreams = { 'https://s': { delivered: 1, durations: { '+Inf': 1 } } }
    const a = figuresOf([pointAt(1, { received: 2, outcomes: { delivered: 2 }, upstreams })], {
      ...{ pending_before: 1, replicas: [{ name: 'a', envelopes: 2, last: 1 }] },
    })
    const b = figuresOf([
      pointAt(1, { received: 3, outcomes: { delivered: 1, rejected: 2 }, unknown: 1, upstreams }),
      pointAt(3, { received: 4 }),
    ])
    const merged = mergeFigures([a, b])
    expect(merged).toMatchObject({ pending_before: 1, replicas: [{ name: 'a' }] })
    expect(merged?.points).toMatchObject([
      {
        ...{ time: MINUTE, replicas: 2, received: 5, unknown: 1, outcomes: { delivered: 3, rejected: 2 } },
        upstreams: { 'https://s': { delivered: 2, durations: { '+Inf': 2 } } },
      },
      { time: 3 * MINUTE, replicas: 1, received: 4 },
    ])
  })

  it('keeps what is pending in a store while its replicas do not count', () => {
    const a = figuresOf([pointAt(2, { pending: 5 })], { pending_before: 3 })
    const b = figuresOf([pointAt(1), pointAt(2), pointAt(3, { pending: 1 })])
    expect(mergeFigures([a, b])?.points.map(({ pending }) => pending)).toEqual([3, 5, 6])
  })
})

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
