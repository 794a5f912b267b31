/** Spool with a memory budget for puts, health, growth, and a time limit for totals. */

import type { MemoryBudget } from '../envelope/body/memory-budget.ts'
import type { Entries, Spool, SpoolDescription, SpoolTotals } from '../pipeline/spool.ts'
import { within } from '../pipeline/within.ts'

export type SpoolHealth = {
  /** Result of the last put, or of the last probe after a failed put. `false` also while the file is damaged, or delivery cannot read it. */
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
  /** Called when the spool becomes writable, or stops being so. */
  onHealthChange: (health: SpoolHealth) => void
}

type Put = Spool['put']
type Sample = { at: number; bytes: number; freeBytes: number | undefined }

export const SAMPLE_MS = 10_000
const WINDOW_MS = 2 * 60_000
const MAX_DISK_SECONDS = 60 * 60 // the free space of any disk varies
const MAX_PUT_BYTES = 1024 * 1024 // of one body in a store: a whole small one, or chunks of a large one
const BORROW_MS = 10_000
const TOTALS_MS = 1_000 // the console waits 2 s for a replica

export class MonitoredSpool {
  /** Its put bypasses the memory budget and the health. */
  readonly store: Spool
  readonly #deps: MonitorDeps
  readonly #timer: NodeJS.Timeout
  #totals: Promise<SpoolTotals> | undefined
  #health: SpoolHealth
  #samples: Sample[] = []
  #faultAt = -Infinity
  #isClosed = false

  constructor(deps: MonitorDeps) {
    this.store = deps.store
    this.#deps = deps
    this.#health = { writable: true, since: deps.now() }
    this.#timer = setInterval(() => this.#look(), SAMPLE_MS).unref()
    this.#probe() // a spool whose server is away has to be known before the first outage of Sentry
  }

  /** Rejects with `OutOfMemoryBudget` when there is no memory within 10 s, which does not count as ill health. */
  async put(...args: Parameters<Put>): ReturnType<Put> {
    const [{ bytes }] = args
    const giveBack = await this.#deps.memory.acquire(Math.min(bytes, MAX_PUT_BYTES), BORROW_MS)
    return this.#watch(this.store.put(...args)).finally(giveBack)
  }

  /** Keeps an envelope that was never pending. Rejects as `put` does. */
  async keep(...args: Parameters<Entries['keep']>): ReturnType<Entries['keep']> {
    const [{ bytes }] = args
    const giveBack = await this.#deps.memory.acquire(Math.min(bytes, MAX_PUT_BYTES), BORROW_MS)
    return this.store.entries.keep(...args).finally(giveBack)
  }

  /** Notes that entries cannot be taken from the store. */
  noteFault(error: unknown): void {
    this.#faultAt = this.#deps.clock()
    this.#fail(error instanceof Error ? error.message : 'unknown')
  }

  health(): SpoolHealth {
    return this.#health
  }

  /**
   * Returns the seconds until `bytes` have grown to the bound, or the free bytes of the disk have shrunk to nothing, at the rate of the last two
   * minutes; `undefined` when neither changes in that direction.
   */
  secondsUntilFull(bytes: number, { maxBytes, disk }: SpoolDescription): number | undefined {
    const [first] = this.#samples
    const last = this.#samples.at(-1)
    if (!first || !last || last.at === first.at) return undefined
    const secondsFor = (left: number, change: number) =>
      change > 0 ? ((Math.max(0, left) / change) * (last.at - first.at)) / 1000 : Infinity
    const diskSeconds = secondsFor(disk?.freeBytes ?? 0, (first.freeBytes ?? 0) - (last.freeBytes ?? 0))
    const seconds = Math.min(
      secondsFor(maxBytes - bytes, last.bytes - first.bytes),
      diskSeconds < MAX_DISK_SECONDS ? diskSeconds : Infinity,
    )
    return Number.isFinite(seconds) ? seconds : undefined
  }

  /** Rejects after 1 s. Until the store has responded, later calls get the same result: once it is late, they are rejected at once. */
  totals(): Promise<SpoolTotals> {
    this.#totals ??= this.#readTotals()
    return this.#totals
  }

  /** Ends calls that are under way. Their failures say nothing about the store. */
  close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    return this.store.close()
  }

  #look(): void {
    this.#sample().catch(() => undefined) // a failed sample is left out
    if (!this.#health.writable) this.#probe()
  }

  #probe(): void {
    this.#watch(this.store.probe()).catch(() => undefined) // the health has the error
  }

  #readTotals(): Promise<SpoolTotals> {
    const response = this.store.totals()
    const forget = () => {
      this.#totals = undefined
    }
    void response.then(forget, forget)
    return within(TOTALS_MS, response)
  }

  /** Notes the result of a write as the health. */
  async #watch<T>(write: Promise<T>): Promise<T> {
    try {
      const result = await write
      const isFaulty = this.#deps.clock() - this.#faultAt < SAMPLE_MS
      if (!this.#health.writable && !isFaulty) this.#change({ writable: true, since: this.#deps.now() })
      return result
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : 'unknown')
      throw error
    }
  }

  #fail(problem: string): void {
    if (this.#isClosed) return
    if (this.#health.writable) this.#change({ writable: false, since: this.#deps.now(), problem })
    else this.#health = { ...this.#health, problem }
  }

  #change(health: SpoolHealth): void {
    this.#health = health
    this.#deps.onHealthChange(health)
  }

  async #sample(): Promise<void> {
    const { disk } = await this.store.describe()
    if (disk?.problem !== undefined) this.noteFault(new Error(disk.problem))
    const { bytes } = await this.store.totals()
    const at = this.#deps.clock()
    this.#samples = [
      ...this.#samples.filter((old) => old.at > at - WINDOW_MS),
      { at, bytes, freeBytes: disk?.freeBytes },
    ]
  }
}
