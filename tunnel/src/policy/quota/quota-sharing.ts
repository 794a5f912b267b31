/** Sharing of the use of quotas among the replicas of one spool. */

import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { changeShared, parseShared, type SharedState } from '../../pipeline/shared-state.ts'
import { PERIODS, type QuotaUse, sumUses } from './quota-use.ts'
import type { Quotas } from './quotas.ts'

export type QuotaSharingDeps = {
  state: Pick<SharedState, 'get' | 'put'>
  quotas: Quotas
  replica: string
  logger: Pick<Logger, 'warn' | 'info'>
  /** Milliseconds since 1970. */
  now: () => number
}

/** Value that replicas share. `writers` has the last batch of each replica, and its time. */
type SharedUse = { writers: Record<string, { batch: number; time: number }>; uses: QuotaUse[] }

/** Twice a second: a replica knows what the others have counted until a second ago. */
const INTERVAL_MS = 500
const START_MS = 1_000
/** A replica that has not written for longer is not active. */
const ACTIVE_MS = 5_000
/** A batch may be repeated for so long after its response was lost. */
const WRITER_MS = 60 * 60 * 1000
/** An uncertain batch needs one more, and a failure of the store another one. */
const MAX_LAST_EXCHANGES = 3
/** Of the value, without its writers: it shares a bucket of 1 MiB on NATS, where the old and the new value need room. */
const MAX_BYTES = 256 * 1024
const KEY = 'quota'

/** When the store fails, each replica counts for itself, and shares the sum when the store works again. */
export class QuotaSharing {
  readonly #deps: QuotaSharingDeps
  #batch = 0
  /** Last known value, in case the store loses it. */
  #known: SharedUse = { writers: {}, uses: [] }
  /** Batch whose response is missing. */
  #uncertain: readonly QuotaUse[] | undefined
  #isFailing = false
  #timer: NodeJS.Timeout | undefined
  #exchanging: Promise<void> | undefined

  constructor(deps: QuotaSharingDeps) {
    this.#deps = deps
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
    for (let attempt = 0; attempt < MAX_LAST_EXCHANGES && this.#hasUnshared(); attempt++)
      await this.exchange()
  }

  /** Shares what this replica has counted, and learns what the others have. Never rejects: the next call tries again. */
  exchange(): Promise<void> {
    this.#exchanging ??= this.#exchange()
      .then(
        () => this.#noteSuccess(),
        (err) => this.#noteFailure(err),
      )
      .finally(() => {
        this.#exchanging = undefined
      })
    return this.#exchanging
  }

  #hasUnshared(): boolean {
    return this.#uncertain !== undefined || this.#deps.quotas.counters.unshared().length > 0
  }

  #noteSuccess(): void {
    if (this.#isFailing) this.#deps.logger.info('the use of quotas is shared again')
    this.#isFailing = false
  }

  #noteFailure(err: unknown): void {
    if (!this.#isFailing) this.#deps.logger.warn({ err }, 'the use of quotas is not shared')
    this.#isFailing = true
  }

  async #exchange(): Promise<void> {
    const { state, quotas, replica, now } = this.#deps
    const own = this.#uncertain ?? quotas.counters.unshared()
    if (!this.#uncertain && own.length > 0) this.#batch++
    let adopted = this.#known
    await changeShared(state, KEY, (value) => {
      adopted = parseShared(value, isSharedUse) ?? this.#known
      if (own.length === 0 || adopted.writers[replica]?.batch === this.#batch) return undefined
      adopted = merge(adopted, { replica, batch: this.#batch, time: now(), uses: own })
      this.#uncertain = own
      return JSON.stringify(adopted)
    })
    this.#adopt(adopted, own)
  }

  #adopt(shared: SharedUse, own: readonly QuotaUse[]): void {
    const { quotas, replica, now } = this.#deps
    this.#uncertain = undefined
    this.#known = shared
    quotas.counters.adopt(shared.uses, own)
    const others = Object.entries(shared.writers).filter(
      ([name, { time }]) => name !== replica && Math.abs(now() - time) < ACTIVE_MS,
    )
    quotas.replicas = others.length + 1
  }
}

type Batch = { replica: string; batch: number; time: number; uses: readonly QuotaUse[] }

function merge({ writers, uses }: SharedUse, { replica, batch, time, uses: own }: Batch): SharedUse {
  const recent = Object.entries(writers).filter(([, writer]) => Math.abs(time - writer.time) < WRITER_MS)
  const earliest = Math.min(time, ...Object.values(writers).map((writer) => writer.time)) // a clock may be ahead
  return {
    writers: { ...Object.fromEntries(recent), [replica]: { batch, time } },
    uses: mostUsed(sumUses([...uses, ...own], earliest)),
  }
}

/** Leaves out the least used if there are too many. */
function mostUsed(uses: QuotaUse[]): QuotaUse[] {
  let bytes = 0
  return uses
    .sort((a, b) => b.used - a.used)
    .filter((use) => {
      bytes += JSON.stringify(use).length + 1
      return bytes <= MAX_BYTES
    })
}

function isSharedUse(value: unknown): value is SharedUse {
  const { writers, uses } = Object(value)
  if (typeof writers !== 'object' || writers === null || !Array.isArray(uses)) return false
  return Object.values(writers).every(isWriter) && uses.every(isUse)
}

function isWriter(value: unknown): boolean {
  const { batch, time } = Object(value)
  return [batch, time].every(Number.isFinite)
}

function isUse(value: unknown): boolean {
  const { project, category, period, start, used, saved } = Object(value)
  const hasNames = typeof project === 'string' && typeof category === 'string' && PERIODS.includes(period)
  return hasNames && [start, used, saved].every(Number.isFinite)
}
