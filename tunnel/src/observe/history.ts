/** History of the counter table: rows of each replica in the store that replicas share, and the figures of all of them. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { addCounts, type FigureCounts, type Figures, noCounts, type UpstreamCounts } from 'contract/figures'
import { isObject, object } from 'contract/json'
import type { Logger } from 'pino'
import { once } from '../pipeline/once.ts'
import {
  parseShared,
  SNAPSHOT_STEPS,
  type SnapshotRow,
  type SnapshotStore,
} from '../pipeline/shared-state.ts'
import { within } from '../pipeline/within.ts'
import type { Counters } from './counters.ts'
import { type FiguresRange, figuresOf, type Snapshot, type SnapshotContent, sumOf } from './history-sums.ts'

export type HistoryDeps = {
  store: SnapshotStore
  counters: Pick<Counters, 'figures' | 'revision'>
  /** Totals of the spool. */
  pending: () => Promise<PendingTotals>
  replica: string
  logger: Pick<Logger, 'warn' | 'info'>
  /** Milliseconds since 1970. */
  now: () => number
}

type PendingTotals = { envelopes: number; lost?: number }

/** Row of this replica for the step that began at `time`, and the counts of the replica at its beginning. */
type OwnRow = Snapshot & { step: number; before: FigureCounts }

const MINUTE_MS = 60_000
const FLUSH_MS = 5_000
const AFTER_MS = 50 // timers may fire a little early
const READ_MS = 1_000
const STORE_MS = 10_000
const ROWS_IN_TURN = 500 // about 5 ms of the event loop

/**
 * Each replica counts for itself, in rows of a minute, ten minutes and an hour. It replaces its current rows every 5 s, so that is what a
 * killed one loses. A minute in which no replica ran has no row.
 */
export class History {
  readonly #deps: HistoryDeps
  /** Current row of each step. */
  #current: OwnRow[] = []
  /** Rows that are not in the store, or have changed since. */
  readonly #unsaved = new Map<string, OwnRow>()
  readonly #save = once(() => this.#storeRows())
  #recordedAt: number
  /** Revision of the counters that was recorded last. */
  #revision = -1
  #setBacks = 0
  /** Entries that the store has lost. */
  #vanished = 0
  /** Number of entries that were spooled, sent again or ended, and when it last changed. */
  #moved = { count: 0, at: Number.NEGATIVE_INFINITY }
  #timer: NodeJS.Timeout | undefined
  /** Reason why rows are not stored now. */
  #problem: string | undefined

  constructor(deps: HistoryDeps) {
    this.#deps = deps
    this.#recordedAt = deps.now()
    this.#begin(this.#recordedAt, this.#count())
  }

  start(): void {
    const waitMs = FLUSH_MS - (this.#deps.now() % FLUSH_MS) + AFTER_MS
    this.#timer = setTimeout(() => {
      this.start()
      void this.record()
    }, waitMs).unref()
  }

  /** Stores the minute in progress. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#save.running
    await this.record()
  }

  /** Stores the counts since the last call. Never rejects: the next call tries again to store failed rows. */
  async record(): Promise<void> {
    const { counters, now } = this.#deps
    const isSameMinute = Math.floor(now() / MINUTE_MS) === Math.floor(this.#recordedAt / MINUTE_MS)
    if (counters.revision === this.#revision && isSameMinute && this.#unsaved.size === 0) return
    this.#close(await this.#askPending())
    await this.#save()
  }

  /** Warning for the operator while rows cannot be stored. */
  get warning(): string | undefined {
    return this.#problem === undefined
      ? undefined
      : `The figures of this replica are not stored now: ${this.#problem}.`
  }

  /**
   * Returns the figures of all replicas, from rows of a step. Rows before `since` are left out, of which only what was pending at the begin of the
   * range depends. Rejects when the store fails, or does not respond within 1 s.
   */
  async read(range: FiguresRange, step: number, since = Number.NEGATIVE_INFINITY): Promise<Figures> {
    const { store, now } = this.#deps
    const [rows, totals] = await Promise.all([
      within(READ_MS, store.read(step, Math.max(since, now() - keptMsOf(step)) - step)),
      this.#askPending(),
    ])
    const snapshots = new Map<string, Snapshot>()
    const learn = (row: SnapshotRow) => {
      const snapshot = parseRow(row)
      if (snapshot) snapshots.set(keyOf(row), snapshot)
    }
    for (const [index, row] of rows.entries()) {
      if (index % ROWS_IN_TURN === ROWS_IN_TURN - 1) await nextTurn()
      learn(row)
    }
    const counted = this.#count()
    const state = { last: now(), settled: false, pending: totals?.envelopes }
    const running = this.#current.map((row) => countInto(row, counted, state))
    for (const row of [...this.#unsaved.values(), ...running].filter((each) => each.step === step))
      learn(serialize(row))
    return figuresOf([...snapshots.values()], range, step)
  }

  /** Ends the current rows with all that was counted, and begins those of the steps that have begun since. */
  #close(totals: PendingTotals | undefined): void {
    const now = this.#deps.now()
    this.#vanished = totals?.lost ?? this.#vanished
    this.#revision = this.#deps.counters.revision
    const counted = this.#count()
    const settled = this.#isSettled(totals, counted)
    const state = { last: now, settled, pending: totals?.envelopes }
    const closed = this.#current.map((row) => countInto(row, counted, state))
    this.#current = closed
    if (now < this.#recordedAt) this.#setBacks++
    this.#recordedAt = now
    this.#begin(now, counted)
    for (const row of [...closed, ...this.#current]) this.#unsaved.set(keyOf(row), row)
    for (const [key, { step, snapshot }] of this.#unsaved)
      if (snapshot.last < now - keptMsOf(step)) this.#unsaved.delete(key)
  }

  /**
   * Begins the rows of steps that have none at a time, all with the counts before. After the clock was set back they get another name, since
   * rows of this time may exist.
   */
  #begin(now: number, before: FigureCounts): void {
    const replica = this.#setBacks === 0 ? this.#deps.replica : `${this.#deps.replica} ${this.#setBacks}`
    this.#current = SNAPSHOT_STEPS.map(({ step }) => {
      const time = Math.floor(now / step) * step
      const current = this.#current.find((row) => row.step === step && row.time === time)
      return current ?? { ...{ step, time, replica, before }, snapshot: emptyContent(now) }
    })
  }

  /** Returns `undefined` when the spool does not respond. */
  #askPending(): Promise<PendingTotals | undefined> {
    return within(READ_MS, this.#deps.pending()).catch(() => undefined)
  }

  /** Returns all counts since the start. */
  #count(): FigureCounts {
    return { ...this.#deps.counters.figures(), vanished: this.#vanished }
  }

  /** Reports whether the store had no pending envelope after a minute in which this replica spooled none and ended none. */
  #isSettled(totals: PendingTotals | undefined, counts: FigureCounts): boolean {
    const { outcomes, resent, final_outcomes: ended, vanished } = counts
    const moved = (outcomes.spooled ?? 0) + resent + vanished + sumOf(ended)
    const now = this.#deps.now()
    if (moved !== this.#moved.count) this.#moved = { count: moved, at: now }
    return totals?.envelopes === 0 && this.#moved.at < now - MINUTE_MS
  }

  async #storeRows(): Promise<void> {
    const rows = [...this.#unsaved]
    try {
      await within(STORE_MS, this.#deps.store.add(rows.map(([, row]) => serialize(row))))
    } catch (err) {
      if (this.#problem === undefined) this.#deps.logger.warn({ err }, 'the figures are not stored')
      this.#problem = err instanceof Error ? err.message : 'unknown error'
      return
    }
    if (this.#problem !== undefined) this.#deps.logger.info('the figures are stored again')
    this.#problem = undefined
    for (const [key, row] of rows) if (this.#unsaved.get(key) === row) this.#unsaved.delete(key)
  }
}

function countInto(row: OwnRow, counted: FigureCounts, state: Partial<SnapshotContent>): OwnRow {
  return { ...row, snapshot: { ...row.snapshot, ...addCounts(counted, row.before, -1), ...state } }
}

function emptyContent(now: number): SnapshotContent {
  return { ...noCounts(), settled: false, last: now }
}

function keptMsOf(step: number): number {
  return SNAPSHOT_STEPS.find((each) => each.step === step)?.keepMs ?? 0
}

function keyOf({ time, replica, step }: Pick<SnapshotRow, 'time' | 'replica'> & { step?: number }): string {
  return `${step} ${time} ${replica}`
}

function serialize({ step, time, replica, snapshot }: OwnRow): SnapshotRow {
  const { pending } = snapshot
  const content = { ...withoutZeros(snapshot), ...(pending !== undefined && { pending }) }
  return { step, time, replica, data: JSON.stringify(content) }
}

/** Leaves out zeros, and records of nothing else: names stay in the counter table for as long as the process runs. */
function withoutZeros(value: object): object {
  const entries = Object.entries(value).map(([name, each]) => [
    name,
    typeof each === 'object' ? withoutZeros(each) : each,
  ])
  return Object.fromEntries(
    entries.filter(([, each]) => each !== 0 && (typeof each !== 'object' || Object.keys(each).length > 0)),
  )
}

/** Reads a row, also one of another release, which may lack counts. Returns `undefined` for one that is damaged. */
function parseRow({ time, replica, data }: SnapshotRow): Snapshot | undefined {
  const content = parseShared<unknown>(data)
  if (!isContent(content)) return undefined
  const upstreams: FigureCounts['upstreams'] = {}
  for (const [origin, { delivered = 0, durations = {} }] of Object.entries<Partial<UpstreamCounts>>(
    content.upstreams ?? {},
  ))
    upstreams[origin] = { delivered, durations }
  return { time, replica, snapshot: { ...emptyContent(time), ...content, upstreams } }
}

const FORM = Object.entries({ ...emptyContent(0), pending: 0 })

function isContent(parsed: unknown): parsed is Partial<SnapshotContent> {
  if (!isObject(parsed)) return false
  const isOfForm = FORM.every(([name, empty]) => {
    const { [name]: value = empty } = parsed
    return typeof value === typeof empty && value !== null
  })
  return isOfForm && Object.values(object(parsed.upstreams)).every(isObject)
}
