/** Final results of envelopes, and the number that would have been lost without Culvert. */

import { sumFigures } from 'contract/figures'
import { type LossCounts, lossesOf, sumLosses } from 'contract/situation/losses'
import { type RangeFigures, type RangePoint, sumOutcomes } from '../figures/figure-sums.ts'

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
  | 'lost'
  | 'unknown'

type Result = { name: ResultName; count: number }

export type Results = {
  /** Add up to `received`, `resent` and `pendingBefore`. */
  results: Result[]
  received: number
  /** Envelopes that an operator has sent again. */
  resent: number
  losses: LossCounts
  /** Envelopes that were pending when the range began. */
  pendingBefore: number
}

/** Results that are listed only if there are any. */
const RARE: readonly ResultName[] = ['deferred', 'aborted', 'purged', 'unknown']

/** Counts each envelope once, but deferred ones with each attempt of their sender. */
export function countResults({ points, pending_before: pendingBefore }: RangeFigures): Results {
  const sum = sumFigures(points.map((point) => ({ ...point, upstreams: {} })))
  const { final_outcomes: final, received, resent } = sum
  const outcomes = sumOutcomes(sum)
  const losses = lossesOf(sum)
  const total = (read: (point: RangePoint) => number) => points.reduce((all, point) => all + read(point), 0)
  const results: Result[] = [
    { name: 'direct', count: outcomes.delivered },
    { name: 'later', count: final.delivered ?? 0 },
    { name: 'pending', count: points.at(-1)?.pending ?? pendingBefore },
    { name: 'deferred', count: outcomes.deferred },
    { name: 'rejected', count: outcomes.rejected },
    { name: 'filtered', count: outcomes.filtered },
    { name: 'rate_limited', count: outcomes.rate_limited },
    { name: 'declined', count: outcomes.declined + (final.declined ?? 0) },
    { name: 'aborted', count: outcomes.aborted },
    { name: 'purged', count: final.purged ?? 0 },
    { name: 'lost', count: sumLosses(losses) },
    { name: 'unknown', count: total(({ unknown }) => unknown) },
  ]
  return {
    results: results.filter(({ name, count }) => count > 0 || !RARE.includes(name)),
    ...{ received, resent, pendingBefore, losses },
  }
}

/** Returns the page of the console that shows most of these losses. */
export function linkTo(losses: LossCounts = { expired: 0, evicted: 0, unavailable: 0, vanished: 0 }): string {
  const { expired, evicted, unavailable, vanished } = losses
  const most = Math.max(expired, evicted, unavailable, vanished)
  if (most === unavailable) return '/console/rejections'
  if (most === evicted) return '/console/live-feed?outcome=evicted'
  return most === expired ? '/console/live-feed?outcome=expired' : '/console/spool'
}

export type Reach = {
  /** Conclusive tests. */
  tests: number
  /** Tests that the policy of the page or a slow network stopped, or that came while Sentry did not respond to the tunnel. */
  inconclusive: number
  /** Share of the tests that were blocked, and its 95 % confidence interval (Wilson score); absent without conclusive tests. */
  blocked?: { share: number; from: number; to: number }
  /** Errors from browsers that would have been lost at this share. */
  lostErrors: number
}

const Z = 1.96
const MAX_WIDTH = 0.1

/** Estimates the reach. `errors` is the number of errors from browsers that arrived in the same time. */
export function estimateReach(results: Readonly<Record<string, number>>, errors: number): Reach {
  const { reachable = 0, blocked = 0, inconclusive = 0 } = results
  const tests = reachable + blocked
  if (tests === 0) return { tests, inconclusive, lostErrors: 0 }
  const share = blocked / tests
  const lostErrors = Math.round(errors * share)
  return { tests, inconclusive, blocked: { share, ...intervalOf(share, tests) }, lostErrors }
}

/** Reports whether the sample is so small that the share may be off by more than five points. */
export function isUncertain({ blocked }: Reach): boolean {
  return blocked !== undefined && blocked.to - blocked.from > MAX_WIDTH
}

function intervalOf(share: number, tests: number): { from: number; to: number } {
  const divisor = 1 + Z ** 2 / tests
  const middle = (share + Z ** 2 / (2 * tests)) / divisor
  const margin = (Z / divisor) * Math.sqrt((share * (1 - share)) / tests + Z ** 2 / (4 * tests ** 2))
  return { from: Math.max(0, middle - margin), to: Math.min(1, middle + margin) }
}
