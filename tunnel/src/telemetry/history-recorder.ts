/** Writes the counts of this replica to the history once a minute. Reads counters that exist anyway: an envelope costs nothing more. */

import type { History, HistoryRange } from 'contract/history'
import type { Logger } from 'pino'
import {
  growthOf,
  HISTORY_STEPS,
  type HistoryRecord,
  type HistoryRow,
  type HistoryStore,
  NO_RECORD,
  RANGES,
  recordOf,
  sumRecords,
  sumRows,
} from './history.ts'
import type { Metrics } from './metrics.ts'

export type HistoryDeps = {
  /** Spool or inbox. The ID of a spool can change when it is reached. */
  store: { readonly id: string; history: HistoryStore }
  metrics: Pick<Metrics, 'figures'>
  /** Totals of the spool. Absent without a spool. */
  spool: (() => Promise<{ envelopes: number; lost?: number }>) | undefined
  /** Names of the projects. */
  projects: readonly string[]
  replica: string
  logger: Pick<Logger, 'warn' | 'info'>
  /** Milliseconds since 1970. */
  now: () => number
}

const MINUTE_MS = 60_000
const AFTER_MS = 50 // timers may fire a little early
const READ_MS = 1_000
const STORE_MS = 10_000
export const MAX_PROJECTS = 20

export class HistoryRecorder {
  readonly #deps: HistoryDeps
  readonly #projects: readonly string[]
  /** Counts at the last reading, and its time. */
  #counted = NO_RECORD
  #countedAt: number
  /** Current row of each step. */
  readonly #current = new Map<number, { time: number; replica: string; record: HistoryRecord }>()
  #setBacks = 0
  #unsaved = new Map<string, HistoryRow>()
  /** Counting does not wait for a slow store. */
  #counting: Promise<void> = Promise.resolve()
  #storing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  /** Reason why rows are not stored now. */
  #problem: string | undefined

  constructor(deps: HistoryDeps) {
    this.#deps = deps
    this.#projects = [...new Set(deps.projects)].slice(0, MAX_PROJECTS)
    this.#countedAt = deps.now()
  }

  start(): void {
    const waitMs = MINUTE_MS - (this.#deps.now() % MINUTE_MS) + AFTER_MS
    this.#timer = setTimeout(() => {
      this.start()
      void this.record()
    }, waitMs).unref()
  }

  /** Records the minute in progress. */
  stop(): Promise<void> {
    clearTimeout(this.#timer)
    return this.record()
  }

  /** Records what was counted since the last call. Never rejects: rows that cannot be stored are tried again at the next call. */
  async record(): Promise<void> {
    this.#counting = this.#counting.then(() => this.#count()).catch(() => undefined)
    await this.#counting
    this.#storing = this.#storing.then(() => this.#store()).catch(() => undefined)
    await this.#storing
  }

  /** Warning for the operator while rows cannot be stored. */
  get warning(): string | undefined {
    return this.#problem === undefined
      ? undefined
      : `The history for the longer time ranges is not stored now: ${this.#problem}.`
  }

  /** ID of the store. Replicas that share it have the same. */
  get storeId(): string {
    return this.#deps.store.id
  }

  /** Reports whether the history has counts of a single project. */
  knows(project: string): boolean {
    return this.#projects.includes(project)
  }

  /** Returns the counts of all replicas. Rejects when the store fails, or does not respond within 1 s. */
  async read(range: HistoryRange, project?: string): Promise<History> {
    const { rangeMs, step } = RANGES[range]
    const to = this.#deps.now()
    const from = Math.floor((to - rangeMs) / step) * step
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new Error('no response within 1 s')), READ_MS)
    try {
      const rows = await Promise.race([this.#deps.store.history.read(step, from), late.promise])
      const past = rows.filter(({ time }) => time <= to) // a clock may have been ahead
      return { range, step_ms: step, from, to, points: await sumRows(past, project) }
    } finally {
      clearTimeout(timer)
    }
  }

  async #count(): Promise<void> {
    const { metrics, now } = this.#deps
    const figures = await metrics.figures()
    const to = now()
    const from = Math.min(this.#countedAt, to)
    const counted = recordOf(figures, this.#projects, await this.#readSpool())
    this.#addGrowth(growthOf(this.#counted, counted), from)
    this.#counted = counted
    this.#countedAt = to
  }

  async #store(): Promise<void> {
    const rows = [...this.#unsaved]
    if (rows.length === 0) return
    const late = setTimeout(() => this.#fail(new Error('no response within 10 s')), STORE_MS).unref()
    try {
      await this.#deps.store.history.add(rows.map(([, row]) => row))
    } catch (error) {
      return this.#fail(error)
    } finally {
      clearTimeout(late)
    }
    if (this.#problem !== undefined) this.#deps.logger.info('the history is stored again')
    this.#problem = undefined
    for (const [key, row] of rows) if (this.#unsaved.get(key) === row) this.#unsaved.delete(key)
  }

  #fail(err: unknown): void {
    if (this.#problem === undefined) this.#deps.logger.warn({ err }, 'the history is not stored')
    this.#problem = err instanceof Error ? err.message : 'unknown error'
  }

  /** Adds the growth to the row of each step in which it began. */
  #addGrowth(growth: HistoryRecord, from: number): void {
    for (const { step } of HISTORY_STEPS) {
      const { record, ...row } = this.#rowAt(step, Math.floor(from / step) * step)
      const sum = record ? sumRecords(record, growth) : growth
      this.#current.set(step, { ...row, record: sum })
      this.#unsaved.set(`${step} ${row.time} ${row.replica}`, { step, ...row, data: JSON.stringify(sum) })
    }
    this.#unsaved = new Map(HISTORY_STEPS.flatMap((each) => this.#newestUnsaved(each)))
  }

  /**
   * Returns the current row of a step, or a new one. A clock that is set back by up to a step continues the current one. One that is set
   * back further begins rows of another name, since those of its time may exist.
   */
  #rowAt(step: number, time: number): { time: number; replica: string; record?: HistoryRecord } {
    const { replica } = this.#deps
    const current = this.#current.get(step)
    if (!current) return { time, replica }
    if (current.time >= time && current.time - time <= step) return current
    return { time, replica: current.time > time ? `${replica} ${++this.#setBacks}` : current.replica }
  }

  /** Returns as many rows of a step as the store keeps, so that rows of minutes do not displace those of hours. */
  #newestUnsaved({ step, keepMs }: { step: number; keepMs: number }): [string, HistoryRow][] {
    return [...this.#unsaved].filter(([, row]) => row.step === step).slice(-keepMs / step)
  }

  /** Keeps the last number of lost entries while the spool does not respond. */
  async #readSpool(): Promise<{ vanished: number; pending?: number }> {
    const totals = await this.#deps.spool?.().catch(() => undefined)
    const vanished = totals?.lost ?? this.#counted.vanished
    return { vanished, ...(totals && { pending: totals.envelopes }) }
  }
}
