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

const STEP_MS = 60_000 // a clock that is corrected slowly moves by less between two looks
const EXPIRY_MS = 10_000
/** Time after the start in which nothing expires: a wrong clock may be corrected, and each pending entry is tried. */
const FIRST_EXPIRY_MS = 10 * 60_000

export class Expiry {
  readonly #deps: ExpiryDeps
  readonly #startedAt: number
  #due = 0
  /** Wall clock minus monotonic clock, which cannot be set: the last difference, and the least since the start. */
  #offset: number
  #leastOffset: number

  constructor(deps: ExpiryDeps) {
    this.#deps = deps
    this.#startedAt = deps.clock()
    this.#offset = deps.now() - deps.clock()
    this.#leastOffset = this.#offset
  }

  isDue(): boolean {
    return this.#deps.clock() >= this.#due
  }

  /** Ends the delivery of entries that are too old, and returns them. Runs once at a time. */
  async expire(): Promise<SpoolEntry[]> {
    const { spool, clock, now, maxAgeMs } = this.#deps
    this.#due = Number.POSITIVE_INFINITY
    try {
      const aheadMs = this.#aheadMs()
      if (clock() < this.#startedAt + FIRST_EXPIRY_MS) return []
      return await spool.expire(now() - aheadMs - maxAgeMs)
    } finally {
      this.#due = clock() + EXPIRY_MS
    }
  }

  /**
   * Returns the milliseconds by which the clock is ahead of its earliest setting since the start: a time that was noted before the clock was
   * set forward seems older by that. Reports each step.
   */
  #aheadMs(): number {
    const { now, clock, onNotice } = this.#deps
    const offset = now() - clock()
    const stepMs = offset - this.#offset
    this.#offset = offset
    this.#leastOffset = Math.min(this.#leastOffset, offset)
    if (Math.abs(stepMs) >= STEP_MS) onNotice(describeStep(stepMs))
    return offset - this.#leastOffset
  }
}

function describeStep(stepMs: number): string {
  const minutes = Math.round(Math.abs(stepMs) / 60_000)
  const direction = stepMs > 0 ? 'forward' : 'back'
  return `the clock of this machine was set ${direction} by ${minutes} min; no pending envelope expires because of that. Synchronise the clock`
}
