/** Figures over time: sums of the snapshots of all replicas. */

import type { FigureCounts, Figures, FiguresPoint } from 'contract/figures'
import { combine, noCounts, type Snapshot, sumOf } from './snapshots.ts'

/** Snapshot of one replica, for the step that begins at `time`. Another name of a replica follows its first one after a space. */
export type ReplicaSnapshot = { time: number; replica: string; snapshot: Snapshot }

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

/** Sums up snapshots of one step, in any order. Those before the range tell what was pending at its beginning. */
export function sumFigures(
  snapshots: readonly ReplicaSnapshot[],
  { from, to, step }: FiguresRange,
  snapshotStep: number,
  project?: string,
): Figures {
  const before = snapshots.filter(({ time }) => time < to)
  const slots = Array.from(
    Map.groupBy(before, ({ time }) => time),
    ([time, group]) => createSlot(time, group, snapshotStep, project),
  ).sort((a, b) => a.time - b.time)
  const pendingAtStart = account(slots)
  const inRange = slots.filter(({ time }) => time >= from)
  const points = Array.from(
    Map.groupBy(inRange, ({ time }) => Math.floor(time / step) * step),
    ([time, group]) => createPoint(time, group),
  )
  const pendingBefore = slots.findLast(({ time }) => time < from)?.pending ?? pendingAtStart
  const replicas = listReplicas(
    before.filter(({ time }) => time >= from),
    project,
  )
  return { from, to, step, points, pending_before: pendingBefore, replicas }
}

function createSlot(
  time: number,
  group: readonly ReplicaSnapshot[],
  snapshotStep: number,
  project: string | undefined,
): Slot {
  const end = time + snapshotStep
  const atEnd = group.filter(({ snapshot }) => snapshot.last >= end - MINUTE_MS)
  const newest = group
    .filter(({ snapshot }) => snapshot.pending !== undefined)
    .reduce<Snapshot | undefined>(
      (last, { snapshot }) => (last && last.last > snapshot.last ? last : snapshot),
      undefined,
    )
  return {
    time,
    counts: group.reduce((sum, each) => combine(sum, countsOf(each, project), 1), noCounts()),
    replicas: new Set(group.map(nameOf)),
    ...{ pending: 0, unknown: 0 },
    stored: project === undefined ? newest?.pending : newest && (newest.project_pending?.[project] ?? 0),
    isSettled:
      atEnd.some(({ snapshot }) => snapshot.last >= end) && atEnd.every(({ snapshot }) => snapshot.settled),
  }
}

/**
 * Derives what is pending and what is unknown, so that results add up in each slot: the envelopes received are those with an outcome other
 * than `spooled`, a final outcome, vanished, unknown, and the growth of those pending, without those resent. Returns what was pending
 * before the first slot.
 */
function account(slots: readonly Slot[]): number {
  let start = pendingBefore(slots)
  let pending = start
  let isAnchored = false
  for (const [index, slot] of slots.entries()) {
    const { counts } = slot
    slot.unknown = counts.received - sumOf(counts.outcomes)
    if (slot.unknown < 0) {
      // Another replica gave an outcome to envelopes that a lost one had counted.
      // Of those unknown, the resent ones were not received.
      takeUnknown(
        slots,
        index,
        -slot.unknown,
        (earlier, count) => {
          earlier.counts.received -= count
        },
        ({ unknown, counts: { received } }) => Math.min(unknown, received),
      )
      counts.received = sumOf(counts.outcomes)
      slot.unknown = 0
    }
    pending += flowOf(counts)
    if (pending < 0) {
      // Entries that ended had been spooled by a replica that was lost before it could count them.
      pending += takeUnknown(slots, index, -pending, (_, count, first) => {
        for (const each of slots.slice(first, index)) each.pending += count
      })
      const missing = -pending
      pending = 0
      if (isAnchored) counts.received += missing
      else {
        start += missing
        for (const earlier of slots.slice(0, index)) earlier.pending += missing
      }
    }
    if (slot.isSettled) {
      slot.unknown += pending // a replica was lost before it could count their final outcomes
      pending = 0
      isAnchored = true
    }
    slot.pending = pending
  }
  return start
}

/** Begins with the number that the store reported first. */
function pendingBefore(slots: readonly Slot[]): number {
  let flow = 0
  for (const { counts, stored } of slots) {
    flow += flowOf(counts)
    if (stored !== undefined) return Math.max(0, stored - flow)
  }
  return 0
}

/** Takes up to `count` unknown envelopes of a slot and those before it, the latest first. Returns their number. */
function takeUnknown(
  slots: readonly Slot[],
  last: number,
  count: number,
  onTaken: (slot: Slot, count: number, index: number) => void,
  availableIn: (slot: Slot) => number = ({ unknown }) => unknown,
): number {
  let left = count
  for (let index = last; index >= 0 && left > 0; index--) {
    const slot = slots[index]
    if (!slot) continue
    const taken = Math.min(left, Math.max(0, availableIn(slot)))
    slot.unknown -= taken
    left -= taken
    onTaken(slot, taken, index)
  }
  return count - left
}

/** Returns the growth of the pending envelopes. */
function flowOf({ outcomes, resent, final_outcomes, vanished }: FigureCounts): number {
  return (outcomes.spooled ?? 0) + resent - sumOf(final_outcomes) - vanished
}

function createPoint(time: number, slots: readonly Slot[]): FiguresPoint {
  return {
    time,
    ...slots.reduce((sum, { counts }) => combine(sum, counts, 1), noCounts()),
    replicas: new Set(slots.flatMap(({ replicas }) => [...replicas])).size,
    pending: slots.at(-1)?.pending ?? 0,
    unknown: slots.reduce((sum, { unknown }) => sum + unknown, 0),
  }
}

function listReplicas(
  snapshots: readonly ReplicaSnapshot[],
  project: string | undefined,
): Figures['replicas'] {
  return Array.from(Map.groupBy(snapshots, nameOf), ([name, group]) => ({
    name,
    envelopes: Math.max(
      0,
      group.reduce((sum, each) => sum + countsOf(each, project).received, 0),
    ),
    last: Math.max(...group.map(({ snapshot }) => snapshot.last)),
  }))
}

function countsOf({ snapshot }: ReplicaSnapshot, project: string | undefined): FigureCounts {
  return project === undefined ? snapshot : (snapshot.projects[project] ?? noCounts())
}

function nameOf({ replica }: Pick<ReplicaSnapshot, 'replica'>): string {
  return replica.split(' ', 1)[0] ?? replica
}
