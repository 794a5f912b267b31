/** Findings about an event from the replicas and their stores, one for each envelope and destination. */

import type { FinalOutcome, Outcome, Receipt, SpoolOutcome } from 'contract/admin-api'
import type { StoreEntry, StoreEvent } from 'contract/store'

/** Answers of the replicas. */
export type EventAnswers = {
  /** `isElsewhere`: its replica uses another store than the console shows. */
  events: (StoreEvent & { isElsewhere: boolean })[]
  /** Replicas that have not answered. */
  silent: number
  /** Last response of the replicas that have stopped, in milliseconds since 1970; 0 without one. Their receipts are gone. */
  stoppedAt: number
}

/** `lost-track`: it was spooled, and no replica that has responded knows its final outcome. */
export type FindingState = Exclude<Outcome, 'spooled'> | FinalOutcome | 'pending' | 'kept' | 'lost-track'

/** One envelope for one destination. `kept` is its kept copy, and `entry` its entry in another state. */
export type Finding = {
  /** ID of its receipt. */
  id: string
  state: FindingState
  /** Arrival in milliseconds since 1970. */
  received: number
  project?: string
  receipt?: Receipt
  finalOutcome?: SpoolOutcome
  entry?: StoreEntry
  kept?: StoreEntry
  /** The entries are in a store that the console does not show. */
  isElsewhere?: true
}

export type Findings = {
  /** The newest first. */
  findings: Finding[]
  silent: number
  /** Time since which every envelope of the event would be known; absent when no replica has answered. */
  since?: number
}

type Parts = Omit<Finding, 'id' | 'state' | 'received' | 'project'>

export function readFindings({ events, silent, stoppedAt }: EventAnswers): Findings {
  const byEnvelope = new Map<string, Parts>()
  const partsOf = (receipt: string, project: string | undefined): Parts => {
    const key = `${receipt} ${project}`
    const parts = byEnvelope.get(key) ?? {}
    byEnvelope.set(key, parts)
    return parts
  }
  for (const { receipts, final_outcomes: finalOutcomes, entries, isElsewhere } of events) {
    for (const receipt of receipts) partsOf(receipt.id, receipt.project).receipt = receipt
    for (const outcome of finalOutcomes) {
      const parts = partsOf(outcome.receipt, outcome.project)
      if (outcome.time >= (parts.finalOutcome?.time ?? 0)) parts.finalOutcome = outcome
    }
    for (const entry of entries) {
      const parts = partsOf(entry.receipt, entry.project)
      if (isElsewhere) parts.isElsewhere = true
      if (entry.state === 'kept') parts.kept = entry
      else if (parts.entry?.state !== 'pending') parts.entry = entry
    }
  }
  const findings = [...byEnvelope.values()].map(conclude)
  return {
    findings: findings.sort((a, b) => b.received - a.received),
    silent,
    ...(events.length > 0 && { since: Math.max(stoppedAt, ...events.map((event) => event.receipts_since)) }),
  }
}

/** Reports whether it is certain that no envelope of the event has arrived since `since`. */
export function isNeverSeen({ findings, silent, since }: Findings): boolean {
  return findings.length === 0 && silent === 0 && since !== undefined
}

function conclude(parts: Parts): Finding {
  const { receipt, finalOutcome, entry, kept } = parts
  const stored = entry ?? kept
  const project = receipt?.project ?? stored?.project ?? finalOutcome?.project
  return {
    ...parts,
    id: receipt?.id ?? stored?.receipt ?? finalOutcome?.receipt ?? '',
    state: stateOf(parts),
    received:
      receipt?.time ?? stored?.received ?? (finalOutcome ? finalOutcome.time - finalOutcome.waited_ms : 0),
    ...(project !== undefined && { project }),
  }
}

/** The store decides: an envelope that was sent again is pending after its final outcome. */
function stateOf({ receipt, finalOutcome, entry, kept }: Parts): FindingState {
  if (entry) return entry.state
  if (finalOutcome) return finalOutcome.final_outcome
  if (receipt && receipt.outcome !== 'spooled') return receipt.outcome
  if (kept) return 'kept'
  return 'lost-track'
}
