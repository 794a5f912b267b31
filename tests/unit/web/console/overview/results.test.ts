/** Results of envelopes, which add up to those that were received and those that were pending before. */

import { describe, expect, it } from 'vitest'
import { countResults, type Results } from '../../../../../web/features/console/overview/results.ts'
import { figuresOf, pointAt } from '../../../../support/web/figures.ts'

const POINTS = [
  pointAt(1, {
    ...{ received: 45, unknown: 1, pending: 10 },
    outcomes: {
      ...{ delivered: 10, spooled: 17, 'rate_limited:limited': 1, rate_limited: 2, 'filtered:empty': 4 },
      ...{ declined: 1, aborted: 1, 'rejected:dsn-unknown': 5, 'rejected:spool-full': 2 },
      'deferred:spool-full': 1,
    },
    final_outcomes: { delivered: 5, declined: 1, expired: 1, purged: 1, evicted: 2 },
  }),
  pointAt(3, {
    ...{ received: 3, resent: 2, outcomes: { delivered: 3 }, pending: 6, vanished: 2 },
    final_outcomes: { delivered: 3, expired: 1 },
  }),
]

const sumOf = ({ results }: Results) => results.reduce((sum, { count }) => sum + count, 0)

describe('countResults', () => {
  it('counts each envelope once, by its final result', () => {
    const counted = countResults(figuresOf(POINTS, { pending_before: 3 }))
    expect(counted).toEqual({
      ...{ received: 48, resent: 2, pendingBefore: 3 },
      losses: { expired: 2, evicted: 2, unavailable: 2, vanished: 2 },
      results: [
        { name: 'direct', count: 13 },
        { name: 'later', count: 8 },
        { name: 'pending', count: 6 },
        { name: 'deferred', count: 1 },
        { name: 'rejected', count: 5 },
        { name: 'filtered', count: 4 },
        { name: 'rate_limited', count: 3 },
        { name: 'declined', count: 2 },
        { name: 'aborted', count: 1 },
        { name: 'purged', count: 1 },
        { name: 'lost', count: 8 },
        { name: 'unknown', count: 1 },
      ],
    })
    expect(sumOf(counted)).toBe(counted.received + counted.resent + counted.pendingBefore)
  })

  it('lists what was pending before while no replica has counted since', () => {
    const counted = countResults(figuresOf([], { pending_before: 3 }))
    expect(counted.results).toContainEqual({ name: 'pending', count: 3 })
    expect(sumOf(counted)).toBe(3)
  })
})
