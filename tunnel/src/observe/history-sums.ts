/** Sums of the history: figures of a range, from the rows of all replicas. */

import { type FigureCounts, type Figures, type FiguresPoint, sumFigures } from 'contract/figures'

/** Counts of a replica in one step. */
export type SnapshotContent = FigureCounts & {
  /** Pending envelopes in the store at the last count; absent when it did not respond. */
  pending?: number | undefined
  /** The store had no pending envelope after a minute in which this replica spooled none and ended none. */
  settled: boolean
  /** Time of the last count. */
  last: number
}

/** Snapshot of one replica, for the step that begins at `time`. Another name of a replica follows its first one after a space. */
export type Snapshot = { time: number; replica: string; snapshot: SnapshotContent }

/** Span of the figures. `from` is a multiple of `step`, and `step` one of the step of the snapshots. */
export type FiguresRange = { from: number; to: number; step: number }

/** Snapshots of all replicas for one step. */
type Slot = {
  time: number
  counts: FigureCounts
  replicas: Set<string>
  /** Pending envelopes at its end, derived from the counts. */
  pending: number
  unknown: number
  /** Pending envelopes as the store last reported them. */
  stored: number | undefined
  /** The store had none at the end, and nothing was under way. */
  isSettled: boolean
}

const MINUTE_MS = 60_000

/** Sums up snapshots of one step, in any order. Those before the range have the envelopes pending at its beginning. */
export function figuresOf(
  snapshots: readonly Snapshot[],
  { from, to, step }: FiguresRange,
  snapshotStep: number,
): Figures {
  const before = snapshots.filter(({ time }) => time < to)
  const slots = Array.from(
    Map.groupBy(before, ({ time }) => time),
    ([time, group]) => createSlot(time, group, snapshotStep),
  ).sort((a, b) => a.time - b.time)
  const pendingAtStart = account(slots)
  const inRange = slots.filter(({ time }) => time >= from)
  const points = Array.from(
    Map.groupBy(inRange, ({ time }) => Math.floor(time / step) * step),
    ([time, group]) => createPoint(time, group),
  )
  const pendingBefore = slots.findLast(({ time }) => time < from)?.pending ?? pendingAtStart
  const replicas = listReplicas(before.filter(({ time }) => time >= from))
  return { from, to, step, points, pending_before: pendingBefore, replicas }
}

function createSlot(time: number, group: readonly Snapshot[], snapshotStep: number): Slot {
  const end = time + snapshotStep
  const contents = group.map(({ snapshot }) => snapshot)
  const atEnd = contents.filter(({ last }) => last >= end - MINUTE_MS)
  const [newest] = contents.filter(({ pending }) => pending !== undefined).sort((a, b) => b.last - a.last)
  return {
    time,
    counts: sumCounts(contents),
    replicas: new Set(group.map(nameOf)),
    ...{ pending: 0, unknown: 0 },
    stored: newest?.pending,
    isSettled: atEnd.some(({ last }) => last >= end) && atEnd.every(({ settled }) => settled),
  }
}

/**
 * Derives the pending envelopes, so that results add up in each slot: the envelopes received and resent are those with an outcome other than
 * `spooled`, a final outcome, vanished, unknown, and the growth of those pending. Returns those pending before the first slot.
 */
function account(slots: readonly Slot[]): number {
  const start = pendingBefore(slots)
  let pending = start
  for (const slot of slots) {
    pending += growthOf(slot.counts)
    // A replica was killed before it stored that it had spooled entries that ended.
    const uncounted = Math.max(0, -pending)
    slot.counts.received += uncounted
    pending += uncounted
    if (slot.isSettled) {
      slot.unknown = pending // a replica was killed before it stored their final outcomes
      pending = 0
    }
    slot.pending = pending
  }
  return start
}

/** Returns what the store reported first, without the growth until then. Entries that no replica spooled are older, until the store was empty. */
function pendingBefore(slots: readonly Slot[]): number {
  let growth = 0
  let least = 0
  let reported: number | undefined
  for (const { counts, stored, isSettled } of slots) {
    growth += growthOf(counts)
    least = Math.min(least, growth)
    if (stored !== undefined) reported ??= stored - growth
    if (isSettled) break
  }
  return Math.max(-least, reported ?? 0)
}

/** Returns the growth of the pending envelopes. */
function growthOf({ outcomes, resent, final_outcomes, vanished }: FigureCounts): number {
  return (outcomes.spooled ?? 0) + resent - sumOf(final_outcomes) - vanished
}

function createPoint(time: number, slots: readonly Slot[]): FiguresPoint {
  return {
    time,
    ...sumFigures(slots.map(({ counts }) => counts)),
    replicas: new Set(slots.flatMap(({ replicas }) => [...replicas])).size,
    pending: slots.at(-1)?.pending ?? 0,
    unknown: slots.reduce((sum, { unknown }) => sum + unknown, 0),
  }
}

function listReplicas(snapshots: readonly Snapshot[]): Figures['replicas'] {
  return Array.from(Map.groupBy(snapshots, nameOf), ([name, group]) => ({
    name,
    envelopes: group.reduce((sum, { snapshot }) => sum + sumOf(snapshot.outcomes), 0),
    last: Math.max(...group.map(({ snapshot }) => snapshot.last)),
  }))
}

/** `received` follows from the outcomes: rows of the release before also count envelopes without one. */
function sumCounts(all: readonly FigureCounts[]): FigureCounts {
  const sum = sumFigures(all)
  return { ...sum, received: sumOf(sum.outcomes) }
}

function nameOf({ replica }: Pick<Snapshot, 'replica'>): string {
  return replica.split(' ', 1)[0] ?? replica
}

export function sumOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}
