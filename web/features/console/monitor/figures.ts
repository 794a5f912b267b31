/** Adds up the counters of replicas, and estimates percentiles of durations. */

import type { DurationCounts, ReplicaFigures } from 'contract/admin-api'

export type Figures = Omit<ReplicaFigures, 'process'> & {
  /** Acknowledged spool entries that the store lost, from `/status`. */
  vanished: number
}

export const NO_FIGURES: Figures = {
  ...{ outcomes: [], items: [], bytes: [], final_outcomes: [] },
  ...{ durations: {}, upstream_durations: {}, vanished: 0 },
}

/** Returns the host of an origin, or of a project's name, which begins with it. */
export function hostOf(text: string): string {
  return text.replace(/^https?:\/\//, '').replace(/\/.*/, '')
}

export function addUp(all: readonly Figures[]): Figures {
  return {
    outcomes: mergeCounts(all.flatMap(({ outcomes }) => outcomes)),
    items: mergeCounts(all.flatMap(({ items }) => items)),
    bytes: mergeCounts(all.flatMap(({ bytes }) => bytes)),
    final_outcomes: mergeCounts(all.flatMap(({ final_outcomes }) => final_outcomes)),
    durations: sumRecords(all.map(({ durations }) => durations)),
    upstream_durations: mergeDurations(all.map(({ upstream_durations }) => upstream_durations)),
    vanished: all.reduce((sum, { vanished }) => sum + vanished, 0),
  }
}

function mergeCounts<T extends { count: number }>(counts: readonly T[]): T[] {
  const byName = new Map<string, T>()
  for (const each of counts) {
    const { count, ...name } = each
    const key = JSON.stringify(name)
    byName.set(key, { ...each, count: count + (byName.get(key)?.count ?? 0) })
  }
  return [...byName.values()]
}

function mergeDurations(all: readonly Figures['upstream_durations'][]): Figures['upstream_durations'] {
  const byOrigin = Map.groupBy(all.flatMap(Object.entries<DurationCounts>), ([origin]) => origin)
  return Object.fromEntries(
    [...byOrigin].map(([origin, entries]) => [origin, sumRecords(entries.map(([, counts]) => counts))]),
  )
}

export function addRecords(a: Record<string, number>, b: Record<string, number>): Record<string, number> {
  return sumRecords([a, b])
}

function sumRecords(records: readonly Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const record of records)
    for (const [key, value] of Object.entries(record)) sums[key] = (sums[key] ?? 0) + value
  return sums
}

/** Returns the sums of `counts` by key. */
export function countBy<T extends { count: number }>(
  counts: readonly T[],
  keyOf: (each: T) => string,
): Record<string, number> {
  return sumRecords(counts.map((each) => ({ [keyOf(each)]: each.count })))
}

export function sumCounts(counts: readonly { count: number }[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0)
}

/** Last bound of the tunnel's histograms. */
const LONGEST_SECONDS = 10

/** Percentiles in seconds; absent when there was no response. A response that took longer than the last bound counts as that bound. */
export type DurationPercentiles = { p50?: number; p95?: number; p99?: number }

/** Returns the percentiles of the responses between two readings. */
export function percentilesOf(before: DurationCounts, after: DurationCounts): DurationPercentiles {
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantile(share, before, after))
  return p50 === undefined || p95 === undefined || p99 === undefined ? {} : { p50, p95, p99 }
}

function quantile(share: number, before: DurationCounts, after: DurationCounts): number | undefined {
  const bounds = Object.keys(after).sort((a, b) => toSeconds(a) - toSeconds(b))
  const counts = bounds.map((bound) => (after[bound] ?? 0) - (before[bound] ?? 0))
  const total = counts.at(-1) ?? 0
  if (total <= 0) return undefined
  const bound = toSeconds(bounds[counts.findIndex((count) => count >= total * share)] ?? '')
  if (Number.isFinite(bound)) return bound
  const longest = bounds.at(-2) // stored histories leave out empty buckets
  return longest === undefined ? LONGEST_SECONDS : toSeconds(longest)
}

function toSeconds(bound: string): number {
  return bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound)
}
