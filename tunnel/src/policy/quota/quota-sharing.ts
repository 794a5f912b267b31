/** Sharing of the use of quotas among the replicas of one spool. */

import { setTimeout as wait } from 'node:timers/promises'
import type { QuotaPeriod } from 'contract/policies'
import type { Logger } from 'pino'
import { type SharedEntry, SharedMap, type SharedState } from '../../pipeline/shared-state.ts'
import { PERIOD_MS, PERIODS, type Quotas } from './quotas.ts'

export type QuotaSharingDeps = {
  state: Pick<SharedState, 'get' | 'put' | 'clockOffsetMs'>
  quotas: Quotas
  replica: string
  logger: Pick<Logger, 'warn' | 'info'>
  /** Milliseconds since 1970. */
  now: () => number
}

type Amounts = Readonly<Record<string, number>>

/**
 * Use that one replica has counted in one period, by project and category. The entry ends with the period. An entry of the replica
 * `SUM` has what was moved into it.
 */
type ReplicaUse = {
  replica: string
  period: QuotaPeriod
  used: Amounts
  /** Time of the last change, by the clock of the store. */
  at?: number
  /** Of the sum: how many times an entry of each replica was moved into it. */
  moved?: Readonly<Record<string, number>>
}

type Entries = Map<string, SharedEntry<ReplicaUse>>

/** Knowledge of a replica on its own entry in the period that begins at `start`. */
type OwnEntry = {
  start: number
  /** Number of times that other replicas have moved the entry into the sum, and what they have moved of it. */
  moves: number
  inSum: Amounts
  /** Use of this replica that the store has, in the entry and in the sum. */
  stored: Amounts
}

/** Twice a second: a replica knows what the others have counted until a second ago. */
const INTERVAL_MS = 500
const START_MS = 1_000
const MAX_LAST_EXCHANGES = 3
const CLOCK_MS = 60_000 // by which the clocks of replicas may differ
const SUM = '*'
/** A replica that has changed its entry within this time runs. Most of the others have ended. */
const RUNS_MS = 60_000
/** Of all entries, each of about 60 bytes: a quarter of what a shared map may have. */
const MAX_AMOUNTS = 1_000

/**
 * When the store fails, each replica counts for itself, and shares its use when the store works again. Each process has entries of its
 * own, so that a write whose response was lost can be repeated. When there are many, those of processes that seem to have ended are moved
 * into a sum. One that was only idle, or away, finds that there and continues from it.
 */
export class QuotaSharing {
  readonly #deps: QuotaSharingDeps
  readonly #map: SharedMap<ReplicaUse>
  readonly #ownEntries: Record<QuotaPeriod, OwnEntry> = { day: newOwnEntry(0), hour: newOwnEntry(0) }
  #isFailing = false
  #isLeftOut = false
  #timer: NodeJS.Timeout | undefined
  #exchanging: Promise<void> | undefined

  constructor(deps: QuotaSharingDeps) {
    this.#deps = deps
    const { state, now } = deps
    this.#map = new SharedMap({
      state,
      now,
      key: 'quota-use',
      isValue: isUse,
      maxMs: PERIOD_MS.day + CLOCK_MS,
      onLeftOut: () => this.#noteLeftOut(),
    })
  }

  /** Resolves when the use before a restart is known, or after 1 s. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.exchange(), INTERVAL_MS).unref()
    await Promise.race([this.exchange(), wait(START_MS, undefined, { ref: false })])
  }

  /** Shares the rest. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#exchanging
    let attempts = 0
    do await this.exchange()
    while (this.#isFailing && ++attempts < MAX_LAST_EXCHANGES)
  }

  /** Shares what this replica has counted, and learns what the others have. Never rejects: the next call tries again. */
  exchange(): Promise<void> {
    this.#exchanging ??= this.#exchange().finally(() => {
      this.#exchanging = undefined
    })
    return this.#exchanging
  }

  async #exchange(): Promise<void> {
    const { quotas } = this.#deps
    const starts = { day: quotas.startOf('day'), hour: quotas.startOf('hour') } // a period may end meanwhile
    const used = { day: quotas.own('day'), hour: quotas.own('hour') }
    try {
      const all = await this.#map.update((entries) => {
        for (const period of PERIODS) this.#write(period, starts[period], used[period], entries)
        if (countAmounts(entries) <= MAX_AMOUNTS) return
        for (const period of PERIODS) this.#moveEnded(period, starts[period], entries)
      })
      for (const period of PERIODS) this.#ownEntries[period].stored = used[period]
      this.#learn(all, starts)
    } catch (err) {
      this.#noteFailure(err)
    }
  }

  /** Writes what this replica has counted and the sum does not have. */
  #write(period: QuotaPeriod, start: number, used: Amounts, entries: Entries): void {
    const { replica } = this.#deps
    const name = `${period} ${replica}`
    const own = this.#findOwn(period, start, entries)
    const stored = entries.get(name)
    const entry = stored && isIn(period, start, stored) ? stored : undefined
    if (entry) own.stored = add(own.inSum, entry.value.used)
    const rest = add(used, own.inSum, -1)
    if (JSON.stringify(rest) === JSON.stringify(entry?.value.used ?? {})) return
    const value = { replica, period, used: rest, at: this.#storeTime() }
    entries.set(name, { value, until: start + PERIOD_MS[period] })
  }

  /** Returns what is known of the own entry, with what others have done to it since. */
  #findOwn(period: QuotaPeriod, start: number, entries: Entries): OwnEntry {
    if (this.#ownEntries[period].start !== start) this.#ownEntries[period] = newOwnEntry(start)
    const own = this.#ownEntries[period]
    const sum = entries.get(`${period} ${SUM}`)
    const moves = (sum && isIn(period, start, sum) && sum.value.moved?.[this.#deps.replica]) || 0
    if (moves !== own.moves) own.inSum = moves > own.moves ? own.stored : {} // the store has lost the sum
    own.moves = moves
    return own
  }

  /** Moves the use of replicas that seem to have ended into the sum. Leaves those of another release, which would count it again. */
  #moveEnded(period: QuotaPeriod, start: number, entries: Entries): void {
    const former = entries.get(`${period} ${SUM}`)
    if (former && !isIn(period, start, former)) return
    let used = former?.value.used ?? {}
    const moved = { ...former?.value.moved }
    for (const [name, entry] of entries) {
      const { replica, at = Number.POSITIVE_INFINITY } = entry.value
      const isOther = entry.value.period === period && replica !== SUM && replica !== this.#deps.replica
      if (!isOther || at > this.#storeTime() - RUNS_MS || !isIn(period, start, entry)) continue
      used = add(used, entry.value.used)
      moved[replica] = (moved[replica] ?? 0) + 1
      entries.delete(name)
      const value = { replica: SUM, period, used, moved }
      entries.set(`${period} ${SUM}`, { value, until: start + PERIOD_MS[period] })
    }
  }

  #storeTime(): number {
    return this.#deps.now() + this.#deps.state.clockOffsetMs()
  }

  #learn(all: Entries, starts: Readonly<Record<QuotaPeriod, number>>): void {
    const { quotas, replica, logger } = this.#deps
    const uses = Array.from(all.values(), ({ value }) => value).filter((use) => use.replica !== replica)
    for (const period of PERIODS) {
      const sums = new Map<string, number>()
      for (const { used } of uses.filter((use) => use.period === period))
        for (const [name, amount] of Object.entries(used)) sums.set(name, (sums.get(name) ?? 0) + amount)
      for (const [name, amount] of Object.entries(this.#ownEntries[period].inSum))
        sums.set(name, (sums.get(name) ?? 0) - amount)
      quotas.learn(period, { start: starts[period], sums })
    }
    if (this.#isFailing) logger.info('the use of quotas is shared again')
    this.#isFailing = false
  }

  #noteFailure(err: unknown): void {
    if (!this.#isFailing) this.#deps.logger.warn({ err }, 'the use of quotas is not shared')
    this.#isFailing = true
  }

  #noteLeftOut(): void {
    if (!this.#isLeftOut)
      this.#deps.logger.warn('replicas count too many projects and categories to share the use of all quotas')
    this.#isLeftOut = true
  }
}

function newOwnEntry(start: number): OwnEntry {
  return { start, moves: 0, inSum: {}, stored: {} }
}

/** Reports whether an entry is of the period that begins at `start`. Entries of the last and the next one may be there, too. */
function isIn(period: QuotaPeriod, start: number, { until }: SharedEntry<ReplicaUse>): boolean {
  return Math.abs(until - PERIOD_MS[period] - start) < CLOCK_MS
}

/** Adds amounts, and leaves out those that are 0 then. */
function add(amounts: Amounts, others: Amounts, sign = 1): Amounts {
  const sums = new Map(Object.entries(amounts))
  for (const [name, amount] of Object.entries(others)) sums.set(name, (sums.get(name) ?? 0) + sign * amount)
  return Object.fromEntries(sums.entries().filter(([, amount]) => amount !== 0))
}

function countAmounts(entries: Entries): number {
  return entries.values().reduce((count, { value }) => count + 1 + Object.keys(value.used).length, 0)
}

function isUse(value: unknown): value is ReplicaUse {
  const { replica, period, used, at = 0, moved } = Object(value)
  const hasNames = typeof replica === 'string' && PERIODS.includes(period)
  const numbers = [at, ...Object.values(Object(used)), ...Object.values(Object(moved))]
  return hasNames && numbers.every(Number.isFinite)
}
