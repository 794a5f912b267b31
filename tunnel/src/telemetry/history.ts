/** Rows of the history, and the sums over the replicas that wrote them. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ReplicaFigures } from 'contract/admin-api'
import type { HistoryCounts, HistoryPoint, HistoryRange } from 'contract/history'
import { UNAVAILABLE } from 'contract/rejections'

/** Row of one replica, for the step that begins at `time`. `data` is a `HistoryRecord` as JSON. Times are in milliseconds. */
export type HistoryRow = { step: number; time: number; replica: string; data: string }

/** Stores rows for the replicas that share it, and drops old ones. */
export type HistoryStore = {
  /** A row replaces the one with the same step, time and replica. */
  add(rows: readonly HistoryRow[]): Promise<void>
  /** Returns the rows of a step that begin at `from` or later, in any order. */
  read(step: number, from: number): Promise<HistoryRow[]>
}

/** Counts of all projects, and of single ones. */
export type HistoryRecord = HistoryCounts & { projects: Record<string, HistoryCounts> }

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Steps in which each replica counts, and the age up to which rows are kept. */
export const HISTORY_STEPS: readonly { step: number; keepMs: number }[] = [
  { step: MINUTE_MS, keepMs: 90 * MINUTE_MS },
  { step: 10 * MINUTE_MS, keepMs: 25 * HOUR_MS },
  { step: HOUR_MS, keepMs: 7 * DAY_MS + 2 * HOUR_MS },
]

export const RANGES: Readonly<Record<HistoryRange, { rangeMs: number; step: number }>> = {
  '15m': { rangeMs: 15 * MINUTE_MS, step: MINUTE_MS },
  '1h': { rangeMs: HOUR_MS, step: MINUTE_MS },
  '24h': { rangeMs: DAY_MS, step: 10 * MINUTE_MS },
  '7d': { rangeMs: 7 * DAY_MS, step: HOUR_MS },
}

const NO_COUNTS: HistoryCounts = {
  ...{ outcomes: {}, categories: {}, items: {}, final_outcomes: {}, durations: {} },
  ...{ bytes: 0, unavailable: 0, vanished: 0 },
}

const ROWS_IN_TURN = 100 // about 5 ms of the event loop with 20 projects

export const NO_RECORD: HistoryRecord = { ...NO_COUNTS, projects: {} }

/** Returns the counts since the start of a replica. Single projects have no items and durations. */
export function recordOf(
  figures: ReplicaFigures,
  projects: readonly string[],
  spool: { vanished: number; pending?: number },
): HistoryRecord {
  return {
    ...countsOf(figures),
    items: sumBy(figures.items, ({ type }) => type),
    durations: figures.durations,
    ...withReach(
      sumBy(figures.reach ?? [], ({ result }) => result),
      sumOf(figures.browser_errors ?? []),
    ),
    ...spool,
    projects: Object.fromEntries(
      projects.map((project) => {
        const isIts = (each: { project: string }) => each.project === project
        const [outcomes, bytes] = [figures.outcomes.filter(isIts), figures.bytes.filter(isIts)]
        return [project, countsOf({ outcomes, bytes, final_outcomes: figures.final_outcomes.filter(isIts) })]
      }),
    ),
  }
}

function countsOf({
  outcomes,
  bytes,
  final_outcomes,
}: Pick<ReplicaFigures, 'outcomes' | 'bytes' | 'final_outcomes'>): HistoryCounts {
  const isUnavailable = (reason: string) => UNAVAILABLE.has(reason)
  return {
    ...NO_COUNTS,
    outcomes: sumBy(outcomes, ({ outcome }) => outcome),
    categories: sumBy(outcomes, ({ category }) => category),
    final_outcomes: sumBy(final_outcomes, ({ final_outcome }) => final_outcome),
    bytes: sumOf(bytes),
    unavailable: outcomes.reduce((sum, { reason, count }) => sum + (isUnavailable(reason) ? count : 0), 0),
  }
}

/** Returns what was counted after `before`. Leaves out projects without envelopes. */
export function growthOf(before: HistoryRecord, after: HistoryRecord): HistoryRecord {
  const projects = Object.entries(after.projects).map(
    ([project, counts]) => [project, combine(counts, before.projects[project] ?? NO_COUNTS, -1)] as const,
  )
  const hasAny = ({ outcomes, final_outcomes }: HistoryCounts) =>
    Object.keys(outcomes).length + Object.keys(final_outcomes).length > 0
  const { pending: _, ...old } = before
  return {
    ...combine(after, old, -1),
    projects: Object.fromEntries(projects.filter(([, counts]) => hasAny(counts))),
  }
}

/** Returns the counts of a span and of the one that follows. Pending envelopes are those at the end. */
export function sumRecords(a: HistoryRecord, b: HistoryRecord): HistoryRecord {
  const projects = { ...a.projects }
  for (const [project, counts] of Object.entries(b.projects))
    projects[project] = combine(counts, projects[project] ?? NO_COUNTS, 1)
  return { ...combine(a, b, 1), projects, ...(b.pending !== undefined && { pending: b.pending }) }
}

/** Sums up the rows of all replicas by time, oldest first: of all projects, or of one. Skips rows that cannot be read. */
export async function sumRows(rows: readonly HistoryRow[], project?: string): Promise<HistoryPoint[]> {
  const points = new Map<number, HistoryPoint>()
  for (const [index, { time, data }] of rows.entries()) {
    if (index % ROWS_IN_TURN === ROWS_IN_TURN - 1) await nextTurn()
    const record = parseRecord(data)
    if (!record) continue
    const counts = project === undefined ? record : (record.projects[project] ?? NO_COUNTS)
    const { replicas, ...sum } = points.get(time) ?? { ...NO_COUNTS, replicas: 0 }
    points.set(time, { ...combine(sum, counts, 1), time, replicas: replicas + 1 })
  }
  return [...points.values()].sort((a, b) => a.time - b.time)
}

/** Returns a + sign · b without zeros. Replicas that share a spool see the same entries: the larger number of pending ones counts. */
function combine(a: HistoryCounts, b: HistoryCounts, sign: 1 | -1): HistoryCounts {
  const each = (x: Record<string, number>, y: Record<string, number>) => combineCounts(x, y, sign)
  const pending = [a.pending, b.pending].filter((number) => number !== undefined)
  return {
    outcomes: each(a.outcomes, b.outcomes),
    categories: each(a.categories, b.categories),
    items: each(a.items, b.items),
    final_outcomes: each(a.final_outcomes, b.final_outcomes),
    durations: each(a.durations, b.durations),
    ...withReach(
      each(a.reach ?? {}, b.reach ?? {}),
      (a.browser_errors ?? 0) + sign * (b.browser_errors ?? 0),
    ),
    bytes: a.bytes + sign * b.bytes,
    unavailable: a.unavailable + sign * b.unavailable,
    vanished: a.vanished + sign * b.vanished,
    ...(pending.length > 0 && { pending: Math.max(...pending) }),
  }
}

/** Leaves out reach tests and errors where there are none. */
function withReach(
  reach: Record<string, number>,
  errors: number,
): Pick<HistoryCounts, 'reach' | 'browser_errors'> {
  return {
    ...(Object.keys(reach).length > 0 && { reach }),
    ...(errors !== 0 && { browser_errors: errors }),
  }
}

function combineCounts(
  a: Record<string, number>,
  b: Record<string, number>,
  sign: 1 | -1,
): Record<string, number> {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  const sums = Array.from(names, (name) => [name, (a[name] ?? 0) + sign * (b[name] ?? 0)] as const)
  return Object.fromEntries(sums.filter(([, sum]) => sum !== 0))
}

function sumOf(counts: readonly { count: number }[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0)
}

function sumBy<T extends { count: number }>(
  counts: readonly T[],
  keyOf: (each: T) => string,
): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const each of counts) sums[keyOf(each)] = (sums[keyOf(each)] ?? 0) + each.count
  return sums
}

/** Adds what a row of another release may lack. */
function parseRecord(data: string): HistoryRecord | undefined {
  try {
    const record: Partial<HistoryRecord> | null = JSON.parse(data)
    return typeof record === 'object' && record !== null ? { ...NO_RECORD, ...record } : undefined
  } catch {
    return undefined
  }
}
