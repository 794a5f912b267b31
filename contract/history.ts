/** History of the admin API: counts over time. */

import type { DurationCounts } from './admin-api.ts'

/** Counts of the envelopes of one span of time. Categories are those of envelopes, items are counted by type. */
export type HistoryCounts = {
  outcomes: Record<string, number>
  categories: Record<string, number>
  items: Record<string, number>
  /** Final outcomes of spooled envelopes. */
  final_outcomes: Record<string, number>
  /** Seconds from the first byte of an envelope to its response. */
  durations: DurationCounts
  bytes: number
  /** Reach tests of browsers by result; absent without any, and for single projects. */
  reach?: Record<string, number>
  /** Errors from browsers that were delivered or spooled; absent without any, and for single projects. */
  browser_errors?: number
  /** Rejected with 503: lost. */
  unavailable: number
  /** Acknowledged entries that the store of the spool lost. */
  vanished: number
  /** Envelopes that were pending at the end of the span; in inbox mode those of a simulated outage; absent when the spool did not respond. */
  pending?: number
}

/** Counts of all replicas that share a store, from `time` on. A span in which no replica ran has no point. */
export type HistoryPoint = HistoryCounts & { time: number; replicas: number }

export const HISTORY_RANGES = ['15m', '1h', '24h', '7d'] as const
export type HistoryRange = (typeof HISTORY_RANGES)[number]

/** Response of `GET /history`. Times are in milliseconds since 1970. */
export type History = {
  range: HistoryRange
  /** Length of the span of a point. */
  step_ms: number
  from: number
  to: number
  /** Oldest first. */
  points: HistoryPoint[]
}
