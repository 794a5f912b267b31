/** Spool with a memory budget for puts, health, growth, and a time limit for totals. */

import { setTimeout as wait } from 'node:timers/promises'
import type { MemoryBudget } from '../body/memory-budget.ts'
import type { Spool, SpoolTotals } from './spool.ts'

export type SpoolHealth = {
  /** Result of the last put, or of the last probe after a failed put. */
  writable: boolean
  /** Time of the last change in milliseconds since 1970. */
  since: number
  /** Error of the disk or the server. */
  problem?: string
}

export type MonitorDeps = {
  store: Spool
  memory: MemoryBudget
  /** Monotonic clock in milliseconds, and milliseconds since 1970. */
  clock: () => number
  now: () => number
}

type Put = Spool['put']

export const SAMPLE_MS = 10_000
const WINDOW_MS = 2 * 60_000
const MAX_PUT_BYTES = 1024 * 1024 // of one body in a store: a whole small one, or chunks of a large one
const BORROW_MS = 10_000
const TOTALS_MS = 1_000 // the console waits 2 s for a replica

export class MonitoredSpool {
  /** Its put bypasses the memory budget and the health. */
  readonly store: Spool
  readonly #memory: MemoryBudget
  readonly #clock: () => number
  readonly #now: () => number
  readonly #timer: NodeJS.Timeout
  #health: SpoolHealth
  #samples: { at: number; bytes: number }[] = []
  #lateResponses = 0

  constructor({ store, memory, clock, now }: MonitorDeps) {
    this.store = store
    this.#memory = memory
    this.#clock = clock
    this.#now = now
    this.#health = { writable: true, since: now() }
    this.#timer = setInterval(() => this.#look(), SAMPLE_MS)
    this.#timer.unref()
  }

  /** Rejects with `OutOfMemoryBudget` when there is no memory within 10 s, which does not count as ill health. */
  async put(...args: Parameters<Put>): ReturnType<Put> {
    const [{ bytes }] = args
    const giveBack = await this.#memory.acquire(Math.min(bytes, MAX_PUT_BYTES), BORROW_MS)
    return this.#watch(this.store.put(...args)).finally(giveBack)
  }

  health(): SpoolHealth {
    return this.#health
  }

  /** Returns the seconds until `bytes` have grown to the bound at the rate of the last two minutes; `undefined` when they do not grow. */
  secondsUntilFull(bytes: number): number | undefined {
    const [first] = this.#samples
    const last = this.#samples.at(-1)
    if (!first || !last || last.at === first.at) return undefined
    const perMs = (last.bytes - first.bytes) / (last.at - first.at)
    return perMs > 0 ? Math.max(0, this.store.maxBytes - bytes) / perMs / 1000 : undefined
  }

  /** Rejects after 1 s. Then rejects at once, without asking the store, until its late responses have arrived. */
  async totals(): Promise<SpoolTotals> {
    if (this.#lateResponses > 0) throw new Error('it does not answer')
    const response = this.store.totals()
    const totals = await Promise.race([response, wait(TOTALS_MS, undefined, { ref: false })])
    if (totals) return totals
    this.#lateResponses++
    const onResponse = () => void this.#lateResponses--
    void response.then(onResponse, onResponse)
    throw new Error('it does not answer')
  }

  close(): Promise<void> {
    clearInterval(this.#timer)
    return this.store.close()
  }

  #look(): void {
    this.#sample().catch(() => undefined) // a failed sample is left out
    if (!this.#health.writable) this.#watch(this.store.probe()).catch(() => undefined) // the health has the error
  }

  /** Notes the result of a write as the health. */
  async #watch<T>(write: Promise<T>): Promise<T> {
    try {
      const result = await write
      if (!this.#health.writable) this.#health = { writable: true, since: this.#now() }
      return result
    } catch (error) {
      const problem = error instanceof Error ? error.message : 'unknown'
      const since = this.#health.writable ? this.#now() : this.#health.since
      this.#health = { writable: false, since, problem }
      throw error
    }
  }

  async #sample(): Promise<void> {
    const { bytes } = await this.store.totals()
    const at = this.#clock()
    this.#samples = [...this.#samples.filter((old) => old.at > at - WINDOW_MS), { at, bytes }]
  }
}
