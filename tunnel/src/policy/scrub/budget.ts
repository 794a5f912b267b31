/** CPU time that scrubbing may take for one envelope. */

/** The payload is not JSON as Sentry accepts it, or would take too long to scrub. */
export class Unscrubbable extends Error {}

/** Twice the time of the slowest texts of an envelope, see `bench/policy/detectors.ts`. */
const MAX_MS = 1000
const MIN_UNITS = 16 * 1024 // of texts between two readings of the clock

/** Returns the CPU time of this thread in milliseconds: other processes on a busy machine use up no budget. */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

export class ScrubBudget {
  readonly #clock: () => number
  readonly #start: number
  #units = 0

  constructor(clock: () => number) {
    this.#clock = clock
    this.#start = clock()
  }

  /** Milliseconds until now. */
  spent(): number {
    return this.#clock() - this.#start
  }

  /** Counts a text that is about to be searched. Throws `Unscrubbable` when the time is used up. */
  charge(units: number): void {
    this.#units += units
    if (this.#units < MIN_UNITS) return
    this.#units = 0
    if (this.spent() > MAX_MS) throw new Unscrubbable(`scrubbing has taken ${MAX_MS} ms`)
  }
}
