/** Record of the alerts of all replicas of a spool: the state that the recipients know, the pending message, and the replica that sends it. */

import type { Problem } from 'contract/situation/problems'
import { isNote, SITUATION_STATES, type Situation, type SituationState } from 'contract/situation/situation'
import { parseShared } from '../../pipeline/shared-state.ts'
import type { Alert } from './alert.ts'

/** Times are in milliseconds since 1970 by the clock of the store. */
export type AlertRecord = {
  /** Replica that sends, and the end of its lease. */
  leader: string
  until: number
  /** State of the last message, and the kinds of problems that were named since all was well. */
  state: SituationState
  kinds: Problem['kind'][]
  /** When that changed last. */
  changed: number
  /** End of the spacing of all messages so far, one after the other; absent before the first one. */
  spaced?: number
  /**
   * For one release, since the previous one does not read a record without them. It moved `state` on without a message, and counted that in
   * `held`: the recipients still have to be told.
   */
  sent: number[]
  held: number
  /** Newest message, until every destination has it. */
  message?: Message
}

export type Message = { alert: Alert; created: number; pending: { [target: string]: Pending } }

/** Attempts so far, when the next one is due, and why the last one failed. */
export type Pending = { attempts: number; due: number; error?: string }

/** Name of the shared value. */
export const ALERTS_KEY = 'alerts'
const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
/** Lease of the sending replica. It is renewed when a round begins, and longer than the attempts of one round. */
const LEASE_MS = 60 * SECOND_MS
const RENEWED_MS = 10 * SECOND_MS
/** A problem, or its end, has to last for so long before a message is sent. */
const WORSE_MS = 15 * SECOND_MS
const BETTER_MS = MINUTE_MS
/** Messages in a row, further ones about an outage or its end, and the time after which there may be another one. */
export const MAX_MESSAGES = 6
const MORE_OF_OUTAGES = 2
const SPACING_MS = 10 * MINUTE_MS
const FIRST_RETRY_MS = 5 * SECOND_MS
const LAST_RETRY_MS = 5 * MINUTE_MS
/** Older messages are not sent. */
const MESSAGE_MS = 24 * HOUR_MS

export const NO_ALERTS: AlertRecord = {
  ...{ leader: '', until: 0, state: 'ok', kinds: [], changed: 0, sent: [], held: 0 },
}

/** Takes or renews the lease. Returns `undefined` when there is nothing to write. */
export function lead(record: AlertRecord, replica: string, now: number): AlertRecord | undefined {
  const isOwn = record.leader === replica
  if (!isOwn && now < record.until && record.until <= now + LEASE_MS) return undefined
  if (isOwn && record.until - now > LEASE_MS - RENEWED_MS) return undefined
  return { ...record, leader: replica, until: now + LEASE_MS }
}

export function isLeader({ leader, until }: AlertRecord, replica: string, now: number): boolean {
  return leader === replica && now < until
}

/** Difference between the situation and what the recipients know. */
export type Change = 'worse' | 'better'

export function changeOf(
  { state, kinds, held }: AlertRecord,
  { state: found, problems }: Pick<Situation, 'state' | 'problems'>,
): Change | undefined {
  const severity = SITUATION_STATES.indexOf(found) - SITUATION_STATES.indexOf(state)
  if (severity !== 0) return severity > 0 ? 'worse' : 'better'
  if (held > 0) return found === 'ok' ? 'better' : 'worse'
  return found !== 'ok' && kindsOf(problems).some((kind) => !kinds.includes(kind)) ? 'worse' : undefined
}

/** Returns how long a change has to last. */
export function settleMs(change: Change): number {
  return change === 'worse' ? WORSE_MS : BETTER_MS
}

/** Returns the record after a change that has lasted, with a message to all targets. Returns `undefined` while there are too many: the change is found again. */
export function recordChange(
  record: AlertRecord,
  { state, problems }: Pick<Situation, 'state' | 'problems'>,
  { now, targets, alert }: { now: number; targets: readonly string[]; alert: Alert },
): AlertRecord | undefined {
  const isOfOutage = state === 'outage' || record.state === 'outage'
  const max = MAX_MESSAGES + (isOfOutage ? MORE_OF_OUTAGES : 0)
  const { spaced = 0 } = record
  const isOfWrongClock = spaced - now > (MAX_MESSAGES + MORE_OF_OUTAGES) * SPACING_MS
  const next = (isOfWrongClock ? now : Math.max(spaced, now)) + SPACING_MS
  if (next - now > max * SPACING_MS) return undefined
  const kinds = state === 'ok' ? [] : [...new Set([...record.kinds, ...kindsOf(problems)])]
  const pending = Object.fromEntries(targets.map((target) => [target, { attempts: 0, due: now }]))
  const message = { alert, created: now, pending }
  return { ...record, state, kinds, changed: now, spaced: next, held: 0, message }
}

/** Returns the record after attempts to send a message; `undefined` when another message has replaced it. `error` is absent for a success. */
export function recordAttempts(
  record: AlertRecord,
  { created }: Message,
  results: readonly { target: string; error?: string }[],
  now: number,
): AlertRecord | undefined {
  const { message, ...rest } = record
  if (message?.created !== created) return undefined
  const pending = { ...message.pending }
  for (const { target, error } of results) {
    const attempts = (pending[target]?.attempts ?? 0) + 1
    const waitMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempts - 1))
    if (error === undefined) delete pending[target]
    else pending[target] = { attempts, due: now + waitMs, error }
  }
  const isOver = Object.keys(pending).length === 0
  return isOver ? rest : { ...rest, message: { ...message, pending } }
}

/** Returns the targets to which a message has to be sent now. */
export function dueTargets({ message }: AlertRecord, now: number): string[] {
  if (!message || now - message.created > MESSAGE_MS) return []
  return Object.entries(message.pending).flatMap(([target, { due }]) => (due <= now ? [target] : []))
}

/** Parses the shared value. */
export function parseAlerts(value: string | undefined): AlertRecord {
  return parseShared<AlertRecord>(value) ?? NO_ALERTS
}

/** Leaves out problems that need no action. */
function kindsOf(problems: readonly Problem[]): Problem['kind'][] {
  return problems.flatMap((problem) => (isNote(problem) ? [] : problem.kind))
}
