/** States that the interface shows, and the state and label of each outcome. */

import type { FinalOutcome, Outcome } from 'contract/admin-api'

/** `live`: connected. `good`: succeeded. `wait`: pending. `hold`: held back. `drop`: discarded on purpose. `bad`: failed. */
export type State = 'idle' | 'live' | 'busy' | 'good' | 'wait' | 'hold' | 'drop' | 'bad'

/** `lost`: rejected with 503, so that no sender sends it again, or lost from the spool. */
export type OutcomeName = Outcome | FinalOutcome | 'lost'

export const OUTCOME_STATES: Record<OutcomeName, State> = {
  delivered: 'good',
  spooled: 'wait',
  deferred: 'wait',
  rate_limited: 'hold',
  filtered: 'drop',
  rejected: 'bad',
  declined: 'bad',
  aborted: 'bad',
  expired: 'bad',
  evicted: 'bad',
  purged: 'drop',
  lost: 'bad',
}

export function outcomeLabel(outcome: string): string {
  return outcome === 'rate_limited' ? 'rate-limited' : outcome
}

/** Returns the label of an envelope's present state: one that was spooled and has no final outcome is pending. */
export function stateLabel(outcome: string): string {
  return outcome === 'spooled' ? 'pending' : outcomeLabel(outcome)
}
