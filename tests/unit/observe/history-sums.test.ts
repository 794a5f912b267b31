/** Sums of the history. */

import { describe, expect, it } from 'vitest'
import { type FigureCounts, type Figures, type FiguresPoint, noCounts } from '../../../contract/figures.ts'
import {
  figuresOf,
  type Snapshot,
  type SnapshotContent,
  sumOf,
} from '../../../tunnel/src/observe/history-sums.ts'

const MINUTE = 60_000
const START = Date.UTC(2026, 10, 22, 12, 0)

/** Snapshot of a minute after the start, which was counted last at its end. */
function snapshotAt(minute: number, counts: Partial<SnapshotContent>, replica = 'r-1'): Snapshot {
  const time = START + minute * MINUTE
  const content = { ...noCounts(), settled: false, last: time + MINUTE + 50 }
  return { time, replica, snapshot: { ...content, ...counts } }
}

function sum(
  snapshots: readonly Snapshot[],
  { from = 0, to = 60, step = 1 }: { from?: number; to?: number; step?: number } = {},
): Figures {
  const range = { from: START + from * MINUTE, to: START + to * MINUTE, step: step * MINUTE }
  return figuresOf(snapshots, range, MINUTE)
}

/** Returns the envelopes received and those with a result, which must be equal. */
function balanceOf({ points, pending_before: before }: Figures): [received: number, results: number] {
  const total = (read: (point: FiguresPoint) => number) => points.reduce((all, point) => all + read(point), 0)
  const pending = (points.at(-1)?.pending ?? before) - before
  const results = total(
    ({ outcomes, resent, final_outcomes, vanished, unknown }) =>
      sumOf(outcomes) - (outcomes.spooled ?? 0) - resent + sumOf(final_outcomes) + vanished + unknown,
  )
  return [total(({ received }) => received), results + pending]
}

const pick = ({ points }: Figures, ...names: (keyof FiguresPoint & keyof (FigureCounts & FiguresPoint))[]) =>
  points.map((point) => names.map((name) => point[name]))

describe('figuresOf', () => {
  it('returns nothing without snapshots', () => {
    expect(sum([])).toEqual({
      ...{ from: START, to: START + 60 * MINUTE, step: MINUTE },
      ...{ points: [], pending_before: 0, replicas: [] },
    })
  })

  it('sums up replicas and steps, oldest first, and leaves out spans without a replica', () => {
    const figures = sum(
      [
        snapshotAt(7, { outcomes: { delivered: 1 } }),
        snapshotAt(1, { outcomes: { delivered: 2, 'rejected:spool-full': 1 }, bytes: 5 }, 'r-2'),
        snapshotAt(1, { outcomes: { delivered: 3 }, durations: { 1: 2, '+Inf': 3 } }),
        snapshotAt(2, { durations: { '+Inf': 1 }, upstreams: { s: { delivered: 1, durations: { 1: 1 } } } }),
      ],
      { step: 5 },
    )
    expect(figures.points).toMatchObject([
      {
        ...{ time: START, replicas: 2, received: 6, outcomes: { delivered: 5, 'rejected:spool-full': 1 } },
        ...{
          bytes: 5,
          durations: { 1: 2, '+Inf': 4 },
          upstreams: { s: { delivered: 1, durations: { 1: 1 } } },
        },
      },
      { time: START + 5 * MINUTE, replicas: 1, received: 1 },
    ])
    expect(figures.replicas).toEqual([
      { name: 'r-1', envelopes: 4, last: START + 8 * MINUTE + 50 },
      { name: 'r-2', envelopes: 3, last: START + 2 * MINUTE + 50 },
    ])
  })

  it('counts a replica once that has rows of several names, and snapshots of the range only', () => {
    const counts = { outcomes: { delivered: 1 } }
    const figures = sum(
      [
        snapshotAt(0, counts),
        ...['r-1', 'r-1 1', 'r-1 2'].map((name) => snapshotAt(3, counts, name)),
        snapshotAt(9, counts),
      ],
      { from: 2, to: 9 },
    )
    expect(pick(figures, 'replicas', 'received')).toEqual([[1, 3]])
    expect(figures.replicas).toMatchObject([{ name: 'r-1', envelopes: 3 }])
  })

  it('derives the pending envelopes of each span, from those before it', () => {
    const snapshots = [
      snapshotAt(0, { outcomes: { spooled: 5 }, pending: 7 }),
      snapshotAt(1, { final_outcomes: { delivered: 3, expired: 1 }, pending: 90 }),
      snapshotAt(2, { outcomes: { spooled: 1, delivered: 4 }, vanished: 2 }),
    ]
    expect(pick(sum(snapshots), 'pending')).toEqual([[7], [3], [2]])
    expect(sum(snapshots)).toMatchObject({ pending_before: 2 })
    expect(sum(snapshots, { from: 2 })).toMatchObject({ pending_before: 3 })
    expect(sum(snapshots, { from: 20 })).toMatchObject({ pending_before: 2, points: [] })
    for (const from of [0, 1, 2]) expect(new Set(balanceOf(sum(snapshots, { from }))).size).toBe(1)
  })

  it('begins with the number that the store reported first, at the end of the row', () => {
    const snapshots = [
      snapshotAt(0, { outcomes: { spooled: 2 } }),
      snapshotAt(1, { outcomes: { spooled: 1 }, pending: 5, last: START }, 'r-2'),
      snapshotAt(1, { final_outcomes: { delivered: 1 }, pending: 10 }),
    ]
    expect(sum(snapshots)).toMatchObject({ pending_before: 8, points: [{ pending: 10 }, { pending: 10 }] })
  })

  it('takes entries that end, and that no replica has spooled, for older ones until the store was empty, and then for received ones', () => {
    const ended = { final_outcomes: { delivered: 2 } }
    const before = sum([snapshotAt(0, { pending: 1 }), snapshotAt(1, ended)])
    expect(before).toMatchObject({ pending_before: 2, points: [{ pending: 2 }, { pending: 0, received: 0 }] })
    const after = sum([snapshotAt(0, { pending: 0, settled: true }), snapshotAt(1, ended)])
    expect(after).toMatchObject({ pending_before: 0, points: [{ pending: 0 }, { pending: 0, received: 2 }] })
    for (const figures of [before, after]) expect(new Set(balanceOf(figures)).size).toBe(1)
  })

  it('counts what is left as unknown when the store is empty after a quiet minute', () => {
    const spooled = snapshotAt(0, { outcomes: { spooled: 3 }, pending: 3 })
    const quiet = { pending: 0, settled: true }
    const figures = sum([spooled, snapshotAt(1, { final_outcomes: { delivered: 1 } }), snapshotAt(2, quiet)])
    expect(pick(figures, 'pending', 'unknown')).toEqual([
      [3, 0],
      [2, 0],
      [0, 2],
    ])
    expect(balanceOf(figures)).toEqual([3, 3])
  })

  it.each([
    ['another replica was not quiet', [snapshotAt(1, { pending: 0, settled: false }, 'r-2')], {}],
    ['the minute is not over', [], { last: START + 2 * MINUTE - 1 }],
  ])('keeps what is pending while the store is empty and %s', (_, others, parts) => {
    const spooled = snapshotAt(0, { outcomes: { spooled: 3 }, pending: 3 })
    const quiet = snapshotAt(1, { pending: 0, settled: true, ...parts })
    expect(pick(sum([spooled, quiet, ...others]), 'pending', 'unknown')).toEqual([
      [3, 0],
      [3, 0],
    ])
  })

  it('returns no negative number, and results that add up, for any rows', () => {
    let seed = 7
    const random = (max: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return seed % (max + 1)
    }
    for (let round = 0; round < 300; round++) {
      const snapshots = Array.from({ length: 12 }, (_, i) =>
        snapshotAt(
          Math.floor(i / 2),
          {
            outcomes: { delivered: random(3), spooled: random(3) },
            final_outcomes: { delivered: random(3) },
            resent: random(2),
            vanished: random(1),
            ...(random(1) && { pending: random(5) }),
            settled: random(3) === 0,
          },
          `r-${i % 2}`,
        ),
      )
      const from = random(3)
      const figures = sum(snapshots, { from, step: 1 + random(1) * 2 })
      const [received, results] = balanceOf(figures)
      expect(results).toBe(received)
      for (const { pending, unknown, received: each } of figures.points)
        expect(Math.min(pending, unknown, each)).toBeGreaterThanOrEqual(0)
    }
  })
})
