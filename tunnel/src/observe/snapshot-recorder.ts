/** Writes what this replica counts to the store that replicas share, and reads the figures of all of them. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FigureCounts, Figures } from 'contract/figures'
import type { Logger } from 'pino'
import type { Projects } from '../pipeline/projects.ts'
import { SNAPSHOT_STEPS, type SnapshotRow, type SnapshotStore } from '../pipeline/shared-state.ts'
import type { Counters } from './counters.ts'
import { type FiguresRange, type ReplicaSnapshot, sumFigures } from './figures.ts'
import {
  combine,
  combineProjects,
  emptySnapshot,
  isEmpty,
  noCounts,
  parseSnapshot,
  type Snapshot,
  sumOf,
} from './snapshots.ts'
import type { FoundTally, TallyFile } from './tally.ts'

export type SnapshotDeps = {
  store: SnapshotStore
  /** ID of the spool, which can change when it is reached. */
  storeId: () => string
  counters: Counters
  tally: TallyFile
  /** Totals of the spool, by key of the project where there are several. */
  pending: () => Promise<PendingTotals>
  projects: Projects
  replica: string
  logger: Pick<Logger, 'warn' | 'info'>
  /** Milliseconds since 1970, and a monotonic clock in milliseconds. */
  now: () => number
  clock: () => number
}

type PendingTotals = {
  envelopes: number
  lost?: number
  partitions?: readonly { project: string; envelopes: number }[]
}

/** Counts since the start of the process. */
type Counted = { all: FigureCounts; projects: Record<string, FigureCounts> }

/** Row of this replica. `version` changes with its content. */
type OwnRow = { step: number; time: number; replica: string; snapshot: Snapshot; version: number }

const MINUTE_MS = 60_000
const FLUSH_MS = 5_000
const AFTER_MS = 50 // timers may fire a little early
const READ_MS = 1_000
const STORE_MS = 10_000
const LOST_MS = 30_000 // without a sign of life
const ROWS_IN_TURN = 100 // about 5 ms of the event loop with 20 projects
const LOST = '+' // second name of the rows that others write for a lost replica
export const MAX_PROJECTS = 20

export class SnapshotRecorder {
  readonly #deps: SnapshotDeps
  readonly #projects: readonly string[]
  #counted: Counted = { all: noCounts(), projects: {} }
  #countedAt: number
  /** Time at which an envelope was last spooled, or ended in the spool. */
  #flowedAt = -Infinity
  #vanished = 0
  /** Current row of each step. */
  readonly #current = new Map<number, OwnRow>()
  /** Rows that were counted since the spool was last asked for its totals. */
  readonly #touched = new Set<OwnRow>()
  #setBacks = 0
  #unsaved = new Map<string, OwnRow>()
  /** Counting does not wait for a slow store. */
  #asking: Promise<void> = Promise.resolve()
  #storing: Promise<void> = Promise.resolve()
  #watching: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  /** Reason why rows are not stored now. */
  #problem: string | undefined
  /** Tallies of other replicas, and the monotonic time since which each is unchanged. */
  #others = new Map<string, FoundTally & { since: number }>()
  /** Times of the rows that others wrote while this replica stood still, and their envelopes. */
  readonly #standstills = new Map<number, number>()

  constructor(deps: SnapshotDeps) {
    this.#deps = deps
    this.#projects = [...new Set(deps.projects.all.map(({ name }) => name))].slice(0, MAX_PROJECTS)
    this.#countedAt = deps.now()
  }

  start(): void {
    const waitMs = FLUSH_MS - (this.#deps.now() % FLUSH_MS) + AFTER_MS
    this.#timer = setTimeout(() => {
      this.start()
      void this.record()
      void this.watch()
    }, waitMs).unref()
  }

  /** Stores the minute in progress. Removes the tally if all that it counts is stored. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.record()
    if (this.#unsaved.size === 0) this.#deps.tally.remove()
  }

  /** Stores what was counted since the last call. Never rejects: rows that cannot be stored are tried again at the next call. */
  async record(): Promise<void> {
    this.#count()
    this.#asking = this.#asking.then(() => this.#notePending()).catch(() => undefined)
    await this.#asking
    this.#storing = this.#storing.then(() => this.#store()).catch(() => undefined)
    await this.#storing
  }

  /** Shows that this replica lives, and counts the envelopes of lost ones. Never rejects. */
  async watch(): Promise<void> {
    this.#watching = this.#watching.then(() => this.#watch()).catch(() => undefined)
    await this.#watching
  }

  /** Warning for the operator while rows cannot be stored. */
  get warning(): string | undefined {
    return this.#problem === undefined
      ? undefined
      : `The figures of this replica are not stored now: ${this.#problem}.`
  }

  /** ID of the store. Replicas that share it have the same. */
  get storeId(): string {
    return this.#deps.storeId()
  }

  /** Reports whether single projects are counted, and this is one of them. */
  knows(project: string): boolean {
    return this.#projects.includes(project)
  }

  /** Returns the figures of all replicas, from rows of a step. Rejects when the store fails, or does not respond within 1 s. */
  async read(range: FiguresRange, step: number, project?: string): Promise<Figures> {
    const { store, now } = this.#deps
    const { keepMs = 0 } = SNAPSHOT_STEPS.find((each) => each.step === step) ?? {}
    const rows = await within(READ_MS, store.read(step, now() - keepMs - step))
    this.#count()
    const own = [...this.#unsaved.values(), ...this.#current.values()].filter((row) => row.step === step)
    const snapshots = new Map<string, ReplicaSnapshot>()
    for (const [index, row] of rows.entries()) {
      if (index % ROWS_IN_TURN === ROWS_IN_TURN - 1) await nextTurn()
      const snapshot = parseSnapshot(row)
      if (snapshot) snapshots.set(keyOf(row), { ...row, snapshot })
    }
    for (const row of own) snapshots.set(keyOf(row), row)
    return sumFigures([...snapshots.values()], range, step, project)
  }

  /** Adds what was counted since the last call to the row of each step in which it began. A minute without counts has rows, too. */
  #count(): void {
    const to = this.#deps.now()
    const from = Math.min(this.#countedAt, to)
    const all = this.#readCounters()
    const growth = combine(all, this.#counted.all, -1)
    const isMinuteOver = Math.floor(from / MINUTE_MS) < Math.floor(to / MINUTE_MS)
    this.#countedAt = to
    if (isEmpty(growth) && !isMinuteOver) return
    const projects = this.#readProjects()
    const projectGrowth = combineProjects(projects, this.#counted.projects, -1)
    this.#counted = { all, projects }
    if (growth.outcomes.spooled || growth.resent > 0 || sumOf(growth.final_outcomes) > 0)
      this.#flowedAt = from
    for (const { step } of SNAPSHOT_STEPS) {
      const row = this.#rowAt(step, Math.floor(from / step) * step)
      row.snapshot = {
        ...row.snapshot,
        ...combine(row.snapshot, growth, 1),
        projects: combineProjects(row.snapshot.projects, projectGrowth, 1),
        ...{ total: this.#deps.tally.counted, last: to, settled: false },
      }
      this.#touch(row)
    }
    this.#unsaved = new Map(SNAPSHOT_STEPS.flatMap((each) => this.#newestUnsaved(each)))
  }

  #readCounters(): FigureCounts {
    const all = this.#deps.counters.figures()
    all.received -= [...this.#standstills.values()].reduce((sum, count) => sum + count, 0)
    return all
  }

  #readProjects(): Counted['projects'] {
    const { counters } = this.#deps
    return Object.fromEntries(this.#projects.map((project) => [project, counters.figures(project)]))
  }

  #touch(row: OwnRow): void {
    row.version++
    this.#touched.add(row)
    this.#current.set(row.step, row)
    this.#unsaved.set(keyOf(row), row)
  }

  /**
   * Returns the current row of a step, or a new one. A clock that is set back by up to a step continues the current one. One that is set
   * back further begins rows of another name, since those of its time may exist.
   */
  #rowAt(step: number, time: number): OwnRow {
    const { replica } = this.#deps
    const current = this.#current.get(step)
    if (current && current.time >= time && current.time - time <= step) return current
    const isSetBack = current !== undefined && current.time > time
    const name = isSetBack ? `${replica} ${++this.#setBacks}` : (current?.replica ?? replica)
    return { step, time, replica: name, snapshot: emptySnapshot(), version: 0 }
  }

  /** Returns as many rows of a step as the store keeps, so that rows of minutes do not displace those of hours. */
  #newestUnsaved({ step, keepMs }: { step: number; keepMs: number }): [string, OwnRow][] {
    return [...this.#unsaved].filter(([, row]) => row.step === step).slice(-keepMs / step)
  }

  /** Adds the totals of the spool to the rows that were counted. */
  async #notePending(): Promise<void> {
    const rows = [...this.#touched]
    this.#touched.clear()
    if (rows.length === 0) return
    const totals = await this.#deps.pending().catch(() => undefined)
    const isIdle = this.#flowedAt < this.#deps.now() - MINUTE_MS
    const vanished = (totals?.lost ?? this.#vanished) - this.#vanished
    this.#vanished += vanished
    const newest = new Map(rows.map((row) => [row.step, row]))
    for (const row of rows) {
      const { pending: _, project_pending: __, ...snapshot } = row.snapshot
      row.snapshot = { ...snapshot, ...(totals && this.#describePending(totals)) }
      row.snapshot.settled = totals?.envelopes === 0 && vanished === 0 && isIdle
      if (newest.get(row.step) === row) row.snapshot.vanished += vanished
      row.version++
      this.#unsaved.set(keyOf(row), row)
    }
  }

  #describePending({
    envelopes,
    partitions = [],
  }: PendingTotals): Pick<Snapshot, 'pending' | 'project_pending'> {
    const { projects } = this.#deps
    const byProject: Record<string, number> = {}
    for (const partition of partitions) {
      const name = (projects.byKey(partition.project) ?? projects.successorOf(partition.project))?.name
      if (name !== undefined && this.knows(name))
        byProject[name] = (byProject[name] ?? 0) + partition.envelopes
    }
    return { pending: envelopes, project_pending: byProject }
  }

  async #store(): Promise<void> {
    const rows = Array.from(this.#unsaved.values(), (row) => ({ row, version: row.version }))
    if (rows.length === 0) return
    const late = setTimeout(() => this.#fail(new Error('no response within 10 s')), STORE_MS).unref()
    try {
      await this.#deps.store.add(rows.map(({ row }) => serialize(row)))
    } catch (error) {
      return this.#fail(error)
    } finally {
      clearTimeout(late)
    }
    if (this.#problem !== undefined) this.#deps.logger.info('the figures are stored again')
    this.#problem = undefined
    for (const { row, version } of rows) if (row.version === version) this.#unsaved.delete(keyOf(row))
  }

  #fail(err: unknown): void {
    if (this.#problem === undefined) this.#deps.logger.warn({ err }, 'the figures are not stored')
    this.#problem = err instanceof Error ? err.message : 'unknown error'
  }

  async #watch(): Promise<void> {
    const { tally, clock } = this.#deps
    if (!(await tally.touch())) await this.#resume()
    const others = await tally.others()
    const before = this.#others
    this.#others = new Map(
      others.map((other) => {
        const known = before.get(other.replica)
        return [other.replica, known?.changed === other.changed ? known : { ...other, since: clock() }]
      }),
    )
    for (const other of this.#others.values())
      if (clock() - other.since >= LOST_MS) await this.#countLost(other)
  }

  /** Counts the envelopes of a lost replica that none of its rows counts. Replicas that do so at once write the same rows. */
  async #countLost({ replica, counted, changed }: FoundTally): Promise<void> {
    const { store, tally, logger } = this.#deps
    const lost = await Promise.all(
      SNAPSHOT_STEPS.map(async ({ step, keepMs }) => {
        const rows = await store.read(step, changed - keepMs)
        const totals = rows
          .filter((row) => isNameOf(replica, row) && row.replica !== `${replica} ${LOST}`)
          .map((row) => parseSnapshot(row)?.total ?? 0)
        const received = Math.max(0, counted - Math.max(0, ...totals))
        const snapshot = { ...emptySnapshot(), received, total: counted, last: changed }
        const time = Math.floor(changed / step) * step
        return { step, time, replica: `${replica} ${LOST}`, snapshot, version: 0 }
      }),
    )
    const rows = lost.filter(({ snapshot }) => snapshot.received > 0)
    if (rows.length > 0) await store.add(rows.map(serialize))
    await tally.removeOther(replica)
    const envelopes = lost[0]?.snapshot.received ?? 0
    if (envelopes === 0) return logger.info({ lost: replica }, 'a replica was lost')
    logger.warn(
      { lost: replica, envelopes },
      'a replica was lost; the outcome of its last envelopes is unknown',
    )
  }

  /** Takes back the envelopes that others counted while this replica stood still: it knows their outcomes. */
  async #resume(): Promise<void> {
    const { store, tally, replica, now } = this.#deps
    const [{ step, keepMs } = { step: 0, keepMs: 0 }] = SNAPSHOT_STEPS
    for (const row of await store.read(step, now() - keepMs))
      if (row.replica === `${replica} ${LOST}`)
        this.#standstills.set(row.time, parseSnapshot(row)?.received ?? 0)
    tally.create()
  }
}

function keyOf({ step, time, replica }: Pick<SnapshotRow, 'time' | 'replica'> & { step: number }): string {
  return `${step} ${time} ${replica}`
}

function isNameOf(replica: string, row: Pick<SnapshotRow, 'replica'>): boolean {
  return row.replica === replica || row.replica.startsWith(`${replica} `)
}

function serialize({ step, time, replica, snapshot }: OwnRow): SnapshotRow {
  return { step, time, replica, data: JSON.stringify(snapshot) }
}

/** Rejects when there is no result within `ms`. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no response within ${ms / 1000} s`)), ms)
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}
