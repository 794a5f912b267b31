/** Wall clock that may be set while the tunnel runs. It is compared with the monotonic clock, which cannot be set. */

type WallClockDeps = {
  /** Milliseconds since 1970, and a monotonic clock in milliseconds. */
  now: () => number
  clock: () => number
  /** Receives messages for the operator. */
  onNotice: (notice: string) => void
}

const STEP_MS = 60_000 // a clock that is corrected slowly moves by less between two looks

export class WallClock {
  readonly #deps: WallClockDeps
  #last: number
  #least: number

  constructor(deps: WallClockDeps) {
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
    if (Math.abs(stepMs) >= STEP_MS) this.#deps.onNotice(describe(stepMs))
    return offset - this.#least
  }

  #offset(): number {
    return this.#deps.now() - this.#deps.clock()
  }
}

function describe(stepMs: number): string {
  const minutes = Math.round(Math.abs(stepMs) / 60_000)
  const direction = stepMs > 0 ? 'forward' : 'back'
  return `the clock of this machine was set ${direction} by ${minutes} min; no pending envelope expires because of that. Synchronise the clock`
}
