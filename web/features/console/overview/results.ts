/** Results of envelopes: what became of them in the end, with the delivery from the spool taken into account. */

import type { Outcome } from 'contract/admin-api'
import { type RangeFigures, type RangePoint, sumByName, sumFigures } from '../figures/figure-sums.ts'
import { lossesOf, sumLosses } from '../figures/losses.ts'

export type ResultName =
  | 'direct'
  | 'later'
  | 'pending'
  | 'deferred'
  | 'rejected'
  | 'filtered'
  | 'rate_limited'
  | 'declined'
  | 'aborted'
  | 'purged'
  | 'evicted'
  | 'lost'
  | 'unknown'

export type Result = { name: ResultName; count: number }

export type Results = {
  /** Add up to `received`, `resent` and `pendingBefore`. */
  results: Result[]
  received: number
  /** Envelopes that an operator has sent again. */
  resent: number
  /** Envelopes that were pending when the range began. */
  pendingBefore: number
}

/** Results that are listed only if there are any. */
const RARE: readonly ResultName[] = ['deferred', 'aborted', 'purged', 'evicted', 'unknown']

/** Counts each envelope once, but deferred ones with each attempt of their sender. */
export function countResults({ points, pending_before: pendingBefore }: RangeFigures): Results {
  const sum = sumFigures(points.map((point) => ({ ...point, upstreams: {} })))
  const { final_outcomes: final, received, resent } = sum
  const outcomes = sumByName(sum.outcomes)
  const at = (outcome: Outcome) => outcomes[outcome] ?? 0
  const losses = lossesOf(sum)
  const total = (read: (point: RangePoint) => number) => points.reduce((all, point) => all + read(point), 0)
  const results: Result[] = [
    { name: 'direct', count: at('delivered') },
    { name: 'later', count: final.delivered ?? 0 },
    { name: 'pending', count: points.at(-1)?.pending ?? pendingBefore },
    { name: 'deferred', count: at('deferred') },
    { name: 'rejected', count: at('rejected') - losses.unavailable },
    { name: 'filtered', count: at('filtered') },
    { name: 'rate_limited', count: at('rate_limited') },
    { name: 'declined', count: at('declined') + (final.declined ?? 0) },
    { name: 'aborted', count: at('aborted') },
    { name: 'purged', count: final.purged ?? 0 },
    { name: 'evicted', count: losses.evicted },
    { name: 'lost', count: sumLosses({ ...losses, evicted: 0 }) },
    { name: 'unknown', count: total(({ unknown }) => unknown) },
  ]
  return {
    results: results.filter(({ name, count }) => count > 0 || !RARE.includes(name)),
    ...{ received, resent, pendingBefore },
  }
}
