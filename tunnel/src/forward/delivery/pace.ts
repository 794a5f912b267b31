/** Rate of deliveries from the spool to one upstream. */

const INITIAL_RATE = 20 // attempts per second
const MAX_RATE = 10_000
const DOUBLING_MS = 1_000
const MAX_SAVED_MS = 250 // unused allowance expires after this

/** Starts at 20 attempts a second, doubles with each second of good responses, halves with each bad one. */
export class Pace {
  readonly #clock: () => number
  readonly #minRate: number
  readonly #maxRate: number
  #rate: number
  #saved = 0
  #refilledAt: number
  #doubledAt: number

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number, maxRate = MAX_RATE) {
    this.#clock = clock
    this.#maxRate = maxRate
    this.#minRate = Math.min(INITIAL_RATE, maxRate)
    this.#rate = this.#minRate
    this.#refilledAt = clock()
    this.#doubledAt = this.#refilledAt
  }

  /** Begins again at the lowest rate, after an outage. */
  restart(): void {
    this.#rate = this.#minRate
  }

  /** Returns how many attempts may begin now. */
  allowance(): number {
    const time = this.#clock()
    const refill = (this.#rate * (time - this.#refilledAt)) / 1000
    this.#saved = Math.min(Math.max(1, (this.#rate * MAX_SAVED_MS) / 1000), this.#saved + refill)
    this.#refilledAt = time
    return Math.floor(this.#saved)
  }

  spend(attempts: number): void {
    this.#saved -= attempts
  }

  /** Notes a good response. */
  increase(): void {
    const time = this.#clock()
    if (time - this.#doubledAt < DOUBLING_MS) return
    this.#rate = Math.min(this.#maxRate, this.#rate * 2)
    this.#doubledAt = time
  }

  /** Notes a failure, or a response that asks for fewer requests. */
  decrease(): void {
    this.#rate = Math.max(this.#minRate, this.#rate / 2)
    this.#doubledAt = this.#clock()
  }

  perSecond(): number {
    return this.#rate
  }
}
