/** Expiry of spool entries by the wall clock, which may be set while the tunnel runs. */

import type { Spool, SpoolEntry } from '../../pipeline/spool.ts'

type ExpiryDeps = {
  spool: Pick<Spool, 'expire'>
  /** Age in milliseconds at which an entry expires. */
  maxAgeMs: number
  /** Milliseconds since 1970, and a monotonic clock in milliseconds. */
  now: () => number
  clock: () => number
  /** Receives messages for the operator. */
  onNotice: (notice: string) => void
}

const EXPIRY_MS = 10_000
/** Time after the start in which nothing expires: a wrong clock may be corrected, and each pending entry is tried. */
const FIRST_EXPIRY_MS = 10 * 60_000

export class Expiry {
  readonly #deps: ExpiryDeps
  readonly #wallClock: WallClock
  readonly #startedAt: number
  #due = 0

  constructor(deps: ExpiryDeps) {
    this.#deps = deps
    this.#wallClock = new WallClock(deps)
    this.#startedAt = deps.clock()
  }

  isDue(): boolean {
    return this.#deps.clock() >= this.#due
  }

  /** Ends the delivery of entries that are too old, and returns them. Runs once at a time. */
  async expire(): Promise<SpoolEntry[]> {
    const { spool, clock, now, maxAgeMs } = this.#deps
    this.#due = Number.POSITIVE_INFINITY
    try {
      const aheadMs = this.#wallClock.aheadMs()
      if (clock() < this.#startedAt + FIRST_EXPIRY_MS) return []
      return await spool.expire(now() - aheadMs - maxAgeMs)
    } finally {
      this.#due = clock() + EXPIRY_MS
    }
  }
}

const STEP_MS = 60_000 // a clock that is corrected slowly moves by less between two looks

/** Wall clock, compared with the monotonic clock, which cannot be set. */
class WallClock {
  readonly #deps: ExpiryDeps
  #last: number
  #least: number

  constructor(deps: ExpiryDeps) {
    this.#deps = deps
    this.#last = this.#offset()
    this.#least = this.#last
  }

  /**
   * Returns the milliseconds by which the clock is ahead of its earliest setting since the start: a time that was noted before the clock was
   * set forward seems older by that. Reports each step.
   */
  aheadMs(): number {
    const offset = this.#offset()
    const stepMs = offset - this.#last
    this.#last = offset
    this.#least = Math.min(this.#least, offset)
    if (Math.abs(stepMs) >= STEP_MS) this.#deps.onNotice(describeStep(stepMs))
    return offset - this.#least
  }

  #offset(): number {
    return this.#deps.now() - this.#deps.clock()
  }
}

function describeStep(stepMs: number): string {
  const minutes = Math.round(Math.abs(stepMs) / 60_000)
  const direction = stepMs > 0 ? 'forward' : 'back'
  return `the clock of this machine was set ${direction} by ${minutes} min; no pending envelope expires because of that. Synchronise the clock`
}
