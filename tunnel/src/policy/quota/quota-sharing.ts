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

/** Use that one replica has counted in one period, by project and category. The entry ends with the period. */
type ReplicaUse = { replica: string; period: QuotaPeriod; used: Readonly<Record<string, number>> }

/** Twice a second: a replica knows what the others have counted until a second ago. */
const INTERVAL_MS = 500
const START_MS = 1_000
const MAX_LAST_EXCHANGES = 3
const CLOCK_MS = 60_000 // by which the clocks of replicas may differ

/** When the store fails, each replica counts for itself, and shares its use when the store works again. */
export class QuotaSharing {
  readonly #deps: QuotaSharingDeps
  readonly #map: SharedMap<ReplicaUse>
  #isFailing = false
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
    try {
      this.#learn(await this.#map.merge(this.#own()), starts)
    } catch (err) {
      this.#noteFailure(err)
    }
  }

  #own(): Map<string, SharedEntry<ReplicaUse>> {
    const { quotas, replica } = this.#deps
    const entries = PERIODS.map((period) => {
      const until = quotas.startOf(period) + PERIOD_MS[period]
      return [
        `${period} ${replica}`,
        { value: { replica, period, used: quotas.own(period) }, until },
      ] as const
    })
    return new Map(entries.filter(([, { value }]) => Object.keys(value.used).length > 0))
  }

  #learn(
    all: ReadonlyMap<string, SharedEntry<ReplicaUse>>,
    starts: Readonly<Record<QuotaPeriod, number>>,
  ): void {
    const { quotas, replica, logger } = this.#deps
    const uses = Array.from(all.values(), ({ value }) => value).filter((use) => use.replica !== replica)
    for (const period of PERIODS) {
      const sums = new Map<string, number>()
      for (const { used } of uses.filter((use) => use.period === period))
        for (const [name, amount] of Object.entries(used)) sums.set(name, (sums.get(name) ?? 0) + amount)
      quotas.learn(period, { start: starts[period], sums })
    }
    if (this.#isFailing) logger.info('the use of quotas is shared again')
    this.#isFailing = false
  }

  #noteFailure(err: unknown): void {
    if (!this.#isFailing) this.#deps.logger.warn({ err }, 'the use of quotas is not shared')
    this.#isFailing = true
  }
}

function isUse(value: unknown): value is ReplicaUse {
  const { replica, period, used } = Object(value)
  const hasNames = typeof replica === 'string' && PERIODS.includes(period)
  return hasNames && Object.values(Object(used)).every(Number.isFinite)
}
