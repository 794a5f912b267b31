/** Snapshots of the counter table, in the rows that replicas write to the store they share. */

import type { FigureCounts, UpstreamCounts } from 'contract/figures'
import type { SnapshotRow } from '../pipeline/shared-state.ts'

/** Counts of a replica in one step, of all projects and of single ones. */
export type Snapshot = FigureCounts & {
  projects: Record<string, FigureCounts>
  /** Pending envelopes in the store after the last count, of all projects and of single ones; absent when it did not respond. */
  pending?: number
  project_pending?: Record<string, number>
  /** The store had no pending envelope after a minute in which this replica spooled none and ended none. */
  settled: boolean
  /** Envelopes of this replica since its start that its rows count. */
  total: number
  /** Time of the last count. */
  last: number
}

export function noCounts(): FigureCounts {
  return {
    ...{ received: 0, outcomes: {}, categories: {}, items: {}, final_outcomes: {}, resent: 0, bytes: 0 },
    ...{ durations: {}, upstreams: {}, mirrored: {}, vanished: 0, reach: {}, browser_errors: 0 },
  }
}

export function emptySnapshot(): Snapshot {
  return { ...noCounts(), projects: {}, settled: false, total: 0, last: 0 }
}

/** Returns a + sign · b without zeros. */
export function combine(a: FigureCounts, b: FigureCounts, sign: 1 | -1): FigureCounts {
  const each = (x: Record<string, number>, y: Record<string, number>) => combineCounts(x, y, sign)
  return {
    received: a.received + sign * b.received,
    outcomes: each(a.outcomes, b.outcomes),
    categories: each(a.categories, b.categories),
    items: each(a.items, b.items),
    final_outcomes: each(a.final_outcomes, b.final_outcomes),
    resent: a.resent + sign * b.resent,
    bytes: a.bytes + sign * b.bytes,
    durations: each(a.durations, b.durations),
    upstreams: combineUpstreams(a.upstreams, b.upstreams, sign),
    mirrored: each(a.mirrored, b.mirrored),
    vanished: a.vanished + sign * b.vanished,
    reach: each(a.reach, b.reach),
    browser_errors: a.browser_errors + sign * b.browser_errors,
  }
}

/** Combines the counts of each project, and leaves out those without any. */
export function combineProjects(
  a: Record<string, FigureCounts>,
  b: Record<string, FigureCounts>,
  sign: 1 | -1,
): Record<string, FigureCounts> {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  const sums = Array.from(
    names,
    (name) => [name, combine(a[name] ?? noCounts(), b[name] ?? noCounts(), sign)] as const,
  )
  return Object.fromEntries(sums.filter(([, counts]) => !isEmpty(counts)))
}

/** Returns `true` when nothing was counted. */
export function isEmpty({ received, vanished, resent, ...counts }: FigureCounts): boolean {
  const { outcomes, final_outcomes, mirrored, reach } = counts
  const names = [outcomes, final_outcomes, mirrored, reach].flatMap(Object.keys)
  return received === 0 && vanished === 0 && resent === 0 && names.length === 0
}

export function sumOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

function combineCounts(
  a: Record<string, number>,
  b: Record<string, number>,
  sign: 1 | -1,
): Record<string, number> {
  const sums = { ...a }
  for (const [name, count] of Object.entries(b)) {
    sums[name] = (sums[name] ?? 0) + sign * count
    if (sums[name] === 0) delete sums[name]
  }
  return sums
}

function combineUpstreams(
  a: Record<string, UpstreamCounts>,
  b: Record<string, UpstreamCounts>,
  sign: 1 | -1,
): Record<string, UpstreamCounts> {
  const sums = { ...a }
  for (const [origin, counts] of Object.entries(b)) {
    const before = sums[origin] ?? { delivered: 0, durations: {} }
    const durations = combineCounts(before.durations, counts.durations, sign)
    if (Object.keys(durations).length === 0) delete sums[origin]
    else sums[origin] = { delivered: before.delivered + sign * counts.delivered, durations }
  }
  return sums
}

/** Reads the data of a row, also one of the previous release, which has outcomes without reasons. Returns `undefined` if it cannot be read. */
export function parseSnapshot({ time, data }: Pick<SnapshotRow, 'time' | 'data'>): Snapshot | undefined {
  const value = parseJson(data)
  if (!isRecord(value)) return undefined
  const projects = isRecord(value.projects) ? value.projects : {}
  return {
    ...readCounts(value),
    projects: mapValues(projects, (counts) => readCounts(isRecord(counts) ? counts : {})),
    ...(isCount(value.pending) && { pending: value.pending }),
    project_pending: readNumbers(value.project_pending),
    settled: value.settled === true,
    total: readNumber(value.total),
    last: isCount(value.last) ? value.last : time,
  }
}

function readCounts(value: Record<string, unknown>): FigureCounts {
  const outcomes = readOutcomes(value)
  const upstreams = isRecord(value.upstreams) ? value.upstreams : {}
  return {
    // It is below 0 in the row of a replica whose envelopes others had counted while it stood still.
    received: Number.isFinite(value.received) ? Number(value.received) : sumOf(outcomes),
    outcomes,
    categories: readNumbers(value.categories),
    items: readNumbers(value.items),
    final_outcomes: readNumbers(value.final_outcomes),
    resent: readNumber(value.resent),
    bytes: readNumber(value.bytes),
    durations: readNumbers(value.durations),
    upstreams: mapValues(upstreams, (counts) => {
      const { delivered, durations } = isRecord(counts) ? counts : {}
      return { delivered: readNumber(delivered), durations: readNumbers(durations) }
    }),
    mirrored: readNumbers(value.mirrored),
    vanished: readNumber(value.vanished),
    reach: readNumbers(value.reach),
    browser_errors: readNumber(value.browser_errors),
  }
}

/** The previous release counted rejections with 503 without their reason. */
function readOutcomes({ outcomes, unavailable }: Record<string, unknown>): Record<string, number> {
  const { rejected = 0, ...others } = readNumbers(outcomes)
  const lost = Math.min(rejected, readNumber(unavailable))
  return {
    ...others,
    ...(rejected > lost && { rejected: rejected - lost }),
    ...(lost > 0 && { 'rejected:spool-unwritable': lost }),
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function readNumber(value: unknown): number {
  return isCount(value) ? value : 0
}

function readNumbers(value: unknown): Record<string, number> {
  return isRecord(value) ? mapValues(value, readNumber) : {}
}

function mapValues<A, B>(record: Record<string, A>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]))
}
