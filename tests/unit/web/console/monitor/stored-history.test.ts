/** Points of the charts from stored history. */

import { describe, expect, it } from 'vitest'
import type { History, HistoryPoint } from '../../../../../contract/history.ts'
import type { Point } from '../../../../../web/features/console/monitor/replica-monitor.ts'
import { continueWith, storedHistoryOf } from '../../../../../web/features/console/monitor/stored-history.ts'

const MINUTE = 60_000

const spanAt = (minute: number, delivered: number, parts: Partial<HistoryPoint> = {}): HistoryPoint => ({
  ...{ time: minute * MINUTE, replicas: 1, outcomes: { delivered }, categories: { error: delivered } },
  ...{ items: { event: delivered }, final_outcomes: {}, durations: {}, bytes: 10 * delivered },
  ...{ unavailable: 0, vanished: 0, ...parts },
})

const historyOf = (points: HistoryPoint[], to = 10.5 * MINUTE): History => ({
  ...{ range: '1h', step_ms: MINUTE, from: 0, to, points },
})

const shown = (points: readonly Point[]) =>
  points.map(({ time, outcomes, isGap }) => [
    time / MINUTE,
    outcomes.delivered ?? 0,
    ...(isGap ? ['gap'] : []),
  ])

describe('storedHistoryOf', () => {
  it('returns totals at the end of each span, and gaps where there are none', () => {
    const stored = storedHistoryOf([historyOf([spanAt(2, 5), spanAt(3, 0), spanAt(6, 1)])])
    expect(shown(stored?.points ?? [])).toEqual([
      [2, 0, 'gap'],
      [3, 5],
      [4, 5],
      [6, 5, 'gap'],
      [7, 6],
      [10, 6, 'gap'],
    ])
  })

  it('adds up reach tests, which points of other releases lack', () => {
    const spans = [spanAt(2, 1, { reach: { blocked: 2 } }), spanAt(3, 1)]
    const other = historyOf([spanAt(2, 1, { reach: { blocked: 1, reachable: 4 } })])
    expect(storedHistoryOf([historyOf(spans), other])?.reach).toEqual({ blocked: 3, reachable: 4 })
  })

  it('adds up the errors from browsers, which points of other releases lack', () => {
    const spans = [spanAt(2, 9, { browser_errors: 2 }), spanAt(3, 9)]
    const other = historyOf([spanAt(2, 9, { browser_errors: 5 })])
    expect(storedHistoryOf([historyOf(spans), other])?.browserErrors).toBe(7)
  })

  it('ends the last span with the last full minute', () => {
    const hour = { ...historyOf([spanAt(0, 5)]), step_ms: 60 * MINUTE }
    expect(shown(storedHistoryOf([hour])?.points ?? [])).toEqual([
      [0, 0, 'gap'],
      [10, 5],
    ])
  })

  it('adds up several spools, with their percentiles, pending envelopes and losses', () => {
    const [fast, slow] = [
      { 0.1: 98, 0.5: 98, 1: 98, '+Inf': 98 },
      { 1: 2, '+Inf': 2 },
    ]
    const stored = storedHistoryOf([
      historyOf([spanAt(9, 98, { durations: fast, pending: 4, unavailable: 1 })]),
      historyOf([spanAt(9, 2, { durations: slow, pending: 3, vanished: 2, final_outcomes: { expired: 5 } })]),
    ])
    expect(stored?.points.at(-1)).toMatchObject({
      ...{ time: 10 * MINUTE, outcomes: { delivered: 100 }, bytes: 1_000, pending: 7 },
      ...{ p50: 0.1, p95: 0.1, p99: 1 },
    })
    expect(stored?.losses).toEqual({ expired: 5, unavailable: 1, vanished: 2 })
  })

  it('counts neither rejections nor losses of the minute in progress', () => {
    const lost = { outcomes: { rejected: 5 }, unavailable: 5, vanished: 3, final_outcomes: { expired: 2 } }
    const stored = storedHistoryOf([historyOf([spanAt(9, 0, { unavailable: 0 }), spanAt(10, 0, lost)])])
    expect(stored?.totals.outcomes).not.toHaveProperty('rejected')
    expect(stored?.losses).toEqual({ expired: 0, unavailable: 0, vanished: 0 })
  })

  it('counts the losses of all spans of the range, also of a longer one that has begun', () => {
    const lost = { outcomes: { rejected: 5 }, unavailable: 5, vanished: 3 }
    const hour = { ...historyOf([spanAt(-60, 0, lost), spanAt(0, 0, lost)]), step_ms: 60 * MINUTE }
    const stored = storedHistoryOf([hour])
    expect(stored?.totals.outcomes).toMatchObject({ rejected: 10 })
    expect(stored?.losses).toEqual({ expired: 0, unavailable: 10, vanished: 6 })
  })

  it('returns percentiles of 10 s when every response took longer', () => {
    const stored = storedHistoryOf([historyOf([spanAt(9, 4, { durations: { '+Inf': 4 } })])])
    expect(stored?.points.at(-1)).toMatchObject({ p50: 10, p95: 10, p99: 10 })
  })

  it('is one gap without spans, and absent without a history', () => {
    expect(shown(storedHistoryOf([historyOf([])])?.points ?? [])).toEqual([[10, 0, 'gap']])
    expect(storedHistoryOf([])).toBeUndefined()
  })
})

describe('continueWith', () => {
  const live = (minute: number, delivered: number): Point => ({
    ...{ time: minute * MINUTE, outcomes: { delivered }, categories: {}, items: {}, finalOutcomes: {} },
    ...{ bytes: 0, pending: 0, upstreams: {} },
  })
  const { points: stored = [] } = storedHistoryOf([historyOf([spanAt(7, 5), spanAt(8, 2)])]) ?? {}

  it('puts stored points before live ones, without growth between them', () => {
    expect(shown(continueWith(stored, [live(9.5, 100), live(9.6, 101)]))).toEqual([
      [7, 93, 'gap'],
      [8, 98],
      [9, 100],
      [9.5, 100, 'gap'],
      [9.6, 101],
    ])
  })

  it('leaves out stored points of the time of the live ones', () => {
    expect(shown(continueWith(stored, [live(8.5, 1)]))).toEqual([
      [7, -4, 'gap'],
      [8, 1],
      [8.5, 1, 'gap'],
    ])
    expect(shown(continueWith(stored, [live(1, 1)]))).toEqual([[1, 1]])
    expect(continueWith(stored, [])).toEqual([])
  })
})
