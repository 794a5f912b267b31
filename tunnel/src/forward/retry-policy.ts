/**
 * Retry policy: for each kind of answer to a delivery attempt, the failures that it counts for, the next attempt, and the final outcome.
 * `docs/architecture.md` gives the reasons (Delivery and retries).
 */

import { LONGEST_DELAY_MS } from '../pipeline/spool.ts'
import { isClientError, isRefusal } from './upstream/answers.ts'
import type { Refusal } from './upstream/failures.ts'
import type { DeliveryResult, UpstreamResponse } from './upstream/request.ts'
import { isUnreachable, upstreamErrorOf } from './upstream/upstream-errors.ts'

export type Consequences = {
  /** Result for the breaker, and for the rows of failures of the entry, its network and its project. */
  counts: 'decision' | 'refused' | 'failed' | 'unreachable' | 'nothing'
  /** Change of the rate of deliveries from the spool, unless the sender alone is to blame for a failure. */
  pace: 'increase' | 'decrease' | 'keep'
  /**
   * Entry of a live envelope after its first attempt. `lease`: the deliverer settles it by `next`, for the failure may be the envelope's own.
   * `due`: it is due at once, for nothing of it was sent. `none`: there is no entry.
   */
  first: 'none' | 'lease' | 'due'
  /**
   * Time of the next attempt from the spool. `backoff`: after up to 1 s following a live attempt, then 2 s, doubled up to 10 s (`backoffMs`), or a longer `Retry-After`.
   * `own-backoff`: after up to 2 min (`ownBackoffMs`) if the entry fails alone, else as `backoff`. `after-limit`: when the rate limit ends.
   */
  next: 'never' | 'after-limit' | 'backoff' | 'own-backoff'
  /** Final outcome. `declined-in-time`: once the entry `isRefusedForGood`. An entry without a decision stays until it expires. */
  ends: 'delivered' | 'declined' | 'declined-in-time' | 'expired'
}

export const RETRY_POLICY = {
  /** 2xx of the server. */
  delivered: { counts: 'decision', pace: 'increase', first: 'none', next: 'never', ends: 'delivered' },
  /** Another decision of the server: most 4xx. */
  declined: { counts: 'decision', pace: 'increase', first: 'none', next: 'never', ends: 'declined' },
  /** 429. */
  rate_limited: { counts: 'decision', pace: 'decrease', first: 'none', next: 'after-limit', ends: 'expired' },
  /** Complete 4xx of a firewall, or for a project that the server does not know. */
  refused: { counts: 'refused', pace: 'keep', first: 'lease', next: 'own-backoff', ends: 'declined-in-time' },
  /** 407, 408, 421 and 425, which say nothing about the envelope. */
  passing: { counts: 'refused', pace: 'keep', first: 'lease', next: 'own-backoff', ends: 'expired' },
  /** 5xx, redirect, no response in time, or a connection that broke. */
  failed: { counts: 'failed', pace: 'decrease', first: 'lease', next: 'own-backoff', ends: 'expired' },
  /** No connection, so that nothing of the envelope was sent. */
  unreachable: { counts: 'unreachable', pace: 'decrease', first: 'due', next: 'backoff', ends: 'expired' },
  /** No attempt: the breaker is open, no connection was free, or the stored body cannot be read. */
  untried: { counts: 'nothing', pace: 'keep', first: 'due', next: 'backoff', ends: 'expired' },
} as const satisfies Record<string, Consequences>

/** Returns the kind of the server's own answer. */
export function decisionOf({ status }: UpstreamResponse): 'delivered' | 'declined' | 'rate_limited' {
  return status < 300 ? 'delivered' : status === 429 ? 'rate_limited' : 'declined'
}

/** Looks up the result of an attempt in the table. */
export function consequencesOf(result: DeliveryResult): Consequences {
  return RETRY_POLICY[kindOf(result)]
}

function kindOf(result: DeliveryResult): keyof typeof RETRY_POLICY {
  if (result.kind === 'answered') return decisionOf(result.reply)
  if (!upstreamErrorOf(result)) return 'untried'
  if (isUnreachable(result)) return 'unreachable' // also if the connection was lost after the status of a 4xx
  if (isClientError(result.status)) return isRefusal(result.status) ? 'refused' : 'passing'
  return 'failed'
}

const FIRST_DELAY_MS = 1_000
/** Longest delay while the upstream fails: the breaker protects it. */
export const MAX_DELAY_MS = 10_000
/** Longest delay of an entry that was taken before its rate limit was known. No other one of the category is taken until the limit ends. */
export const MAX_LIMITED_MS = 60_000
/** Delay of an entry that the store cannot read or remove. Longer than others: it may have been sent, or fails for a damaged file. */
export const STORE_DELAY_MS = 60_000
const MAX_RETRY_AFTER_MS = 60_000 // a longer one would outlast most outages
/** Duration and number of refusals after which an entry is declined. */
const REFUSED_MS = 60 * 60_000
const MIN_REFUSALS = 8

/** Returns the delay before the next attempt, which doubles with each. `random` is a number from 0 up to 1. */
export function backoffMs(attempts: number, random: number): number {
  return jitter(Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempts, 10)), random)
}

/** Returns the delay of an entry that has failed alone `failures` times in a row. */
export function ownBackoffMs(failures: number, random: number): number {
  return jitter(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures), random)
}

/** Returns the part of `Retry-After` that a failing upstream may ask for. */
export function boundRetryAfter(ms = 0): number {
  return Math.min(ms, MAX_RETRY_AFTER_MS)
}

/** Returns `true` for an entry that counts as declined, since it alone was refused for an hour. */
export function isRefusedForGood(refusal: Refusal | undefined): refusal is Refusal {
  return refusal !== undefined && refusal.count >= MIN_REFUSALS && refusal.last - refusal.first >= REFUSED_MS
}

/** Keeps replicas out of step. */
function jitter(delayMs: number, random: number): number {
  return Math.ceil(delayMs * (0.5 + random / 2))
}
