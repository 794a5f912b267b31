/** Sharing of the use of quotas among the replicas of one spool. */

import { setTimeout as wait } from 'node:timers/promises'
import type { QuotaPeriod } from 'contract/policies'
import type { Logger } from 'pino'
import { BoundedMap } from '../../pipeline/bounded-map.ts'
import { once } from '../../pipeline/once.ts'
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

/** Sum of the counts of all replicas in one period, by project and category. The entry ends with the period. */
type SharedUse = {
  /** The release before knows a sum by this name. */
  replica: '+'
  period: QuotaPeriod
  used: Amounts
  /** Number of the last addition of each replica. */
  added: Readonly<Record<string, number>>
}

type Entries = ReadonlyMap<string, SharedEntry<SharedUse>>

/** Period that begins at `start`, and the counts of this replica in it. */
type Current = { period: QuotaPeriod; start: number; used: Amounts }

/** Additions of this replica to the sum of a period: what it had counted at each of the last ones, by their numbers. */
type Additions = { start: number; counted: Map<number, Amounts> }

/** Twice a second: a replica knows the counts of the others until a second ago. */
const INTERVAL_MS = 500
const START_MS = 1_000
const MAX_LAST_EXCHANGES = 3
const CLOCK_MS = 60_000 // by which the clocks of replicas may differ
/** Projects and categories in one sum, each of up to 100 bytes: the two sums fill a shared map. */
const MAX_AMOUNTS = 1_200
/** Additions that a replica remembers: the last one in the sum is among them, even if responses were lost. */
const MAX_ADDITIONS = 8

/**
 * When the store fails, each replica counts for itself, and shares its use when the store works again. A replica adds to the sum what it has
 * counted since its last addition. The sum has the number of that addition, so that none counts twice whose response was lost. A replica
 * whose number is missing adds all it has counted: the store has lost the sum.
 */
export class QuotaSharing {
  readonly #deps: QuotaSharingDeps
  readonly #map: SharedMap<SharedUse>
  readonly #additions: Record<QuotaPeriod, Additions> = { day: newAdditions(0), hour: newAdditions(0) }
  #lastNumber = 0
  #isFailing = false
  #isLeftOut = false
  #timer: NodeJS.Timeout | undefined
  /** Shares the counts of this replica, and learns those of the others. Never rejects: the next call tries again. */
  readonly exchange = once(() => this.#exchange())

  constructor(deps: QuotaSharingDeps) {
    this.#deps = deps
    const { state, now } = deps
    this.#map = new SharedMap({
      state,
      now,
      key: 'quota-use',
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
    await this.exchange.running
    let attempts = 0
    do await this.exchange()
    while (this.#isFailing && ++attempts < MAX_LAST_EXCHANGES)
  }

  async #exchange(): Promise<void> {
    const { quotas, logger } = this.#deps
    const periods = PERIODS.map((period) => ({
      ...{ period, start: quotas.startOf(period), used: quotas.own(period) }, // a period may end meanwhile
    }))
    try {
      const all = await this.#map.update((entries) => {
        for (const current of periods) this.#add(current, entries)
      })
      for (const current of periods) this.#learn(current, all)
      if (this.#isFailing) logger.info('the use of quotas is shared again')
      this.#isFailing = false
    } catch (err) {
      if (!this.#isFailing) logger.warn({ err }, 'the use of quotas is not shared')
      this.#isFailing = true
    }
  }

  /** Adds the counts of this replica that the sum does not have. */
  #add({ period, start, used }: Current, entries: Map<string, SharedEntry<SharedUse>>): void {
    const name = `${period} ${start}`
    if (this.#additions[period].start !== start) this.#additions[period] = newAdditions(start)
    const inSum = this.#ownIn(period, entries.get(name))
    const sum = entries.get(name)?.value
    const rest = this.#withRoom(sum?.used ?? {}, add(used, inSum, -1))
    if (Object.keys(rest).length === 0) return
    const number = ++this.#lastNumber
    this.#additions[period].counted.set(number, add(inSum, rest))
    const added = { ...sum?.added, [this.#deps.replica]: number }
    const value = { replica: '+' as const, period, used: add(sum?.used ?? {}, rest), added }
    entries.set(name, { value, until: start + PERIOD_MS[period] })
  }

  /** Returns the amounts for which the sum has room. The others apply to this replica for itself. */
  #withRoom(sum: Amounts, rest: Amounts): Amounts {
    let room = MAX_AMOUNTS - Object.keys(sum).length
    const fitting = Object.entries(rest).filter(([name]) => name in sum || room-- > 0)
    if (room < 0) this.#noteLeftOut()
    return Object.fromEntries(fitting)
  }

  /** Returns the part of a sum that this replica has added. */
  #ownIn(period: QuotaPeriod, sum: SharedEntry<SharedUse> | undefined): Amounts {
    const { counted } = this.#additions[period]
    const number = sum?.value.added[this.#deps.replica] ?? 0
    const own = counted.get(number) ?? {}
    counted.set(number, own) // as the newest, so that the map keeps it
    return own
  }

  #learn({ period, start }: Current, all: Entries): void {
    const sum = all.get(`${period} ${start}`)
    const others = add(sum?.value.used ?? {}, this.#ownIn(period, sum), -1)
    this.#deps.quotas.learn(period, { start, sums: new Map(Object.entries(others)) })
  }

  #noteLeftOut(): void {
    if (!this.#isLeftOut)
      this.#deps.logger.warn('replicas count too many projects and categories to share the use of all quotas')
    this.#isLeftOut = true
  }
}

function newAdditions(start: number): Additions {
  return { start, counted: new BoundedMap(MAX_ADDITIONS) }
}

/** Adds amounts, and leaves out those that are 0 then. */
function add(amounts: Amounts, others: Amounts, sign = 1): Amounts {
  const sums = new Map(Object.entries(amounts))
  for (const [name, amount] of Object.entries(others)) sums.set(name, (sums.get(name) ?? 0) + sign * amount)
  return Object.fromEntries(sums.entries().filter(([, amount]) => amount !== 0))
}
