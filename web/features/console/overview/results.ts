/** Results of envelopes: what became of them in the end, with the delivery from the spool taken into account. */

import type { FinalOutcome, Outcome } from 'contract/admin-api'
import { type Losses, sumLosses } from '../monitor/losses.ts'
import type { Point } from '../monitor/replica-monitor.ts'

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

export type Result = { name: ResultName; count: number }

/** Results that are listed only if there are any. */
const RARE: readonly ResultName[] = ['deferred', 'aborted', 'purged']

/** Counts each envelope once, but deferred ones with each attempt of their sender. */
export function countResults(
  { outcomes, finalOutcomes, pending }: Pick<Point, 'outcomes' | 'finalOutcomes' | 'pending'>,
  losses: Losses,
): Result[] {
  const at = (outcome: Outcome) => outcomes[outcome] ?? 0
  const inTheEnd = (outcome: FinalOutcome) => finalOutcomes[outcome] ?? 0
  const results: Result[] = [
    { name: 'direct', count: at('delivered') },
    { name: 'later', count: inTheEnd('delivered') },
    { name: 'pending', count: pending },
    { name: 'deferred', count: at('deferred') },
    { name: 'rejected', count: at('rejected') - losses.unavailable },
    { name: 'filtered', count: at('filtered') },
    { name: 'rate_limited', count: at('rate_limited') },
    { name: 'declined', count: at('declined') + inTheEnd('declined') },
    { name: 'aborted', count: at('aborted') },
    { name: 'purged', count: inTheEnd('purged') },
    { name: 'lost', count: sumLosses(losses) },
  ]
  return results.filter(({ name, count }) => count > 0 || !RARE.includes(name))
}
