/** Rate of delivery attempts from the spool to one upstream. */

const INITIAL_RATE = 20
const MAX_RATE = 10_000
const DOUBLING_MS = 1_000
const MAX_SAVED_MS = 250 // unused allowance expires after this

/** Starts at 20 attempts a second, doubles with each second of good responses, halves with each bad one. */
export class RateController {
  readonly #clock: () => number
  #rate = INITIAL_RATE
  #saved = 0
  #refilledAt: number
  #doubledAt: number

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
    this.#refilledAt = clock()
    this.#doubledAt = this.#refilledAt
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
    this.#rate = Math.min(MAX_RATE, this.#rate * 2)
    this.#doubledAt = time
  }

  /** Notes a failure, or a response that asks for fewer requests. */
  decrease(): void {
    this.#rate = Math.max(INITIAL_RATE, this.#rate / 2)
    this.#doubledAt = this.#clock()
  }

  perSecond(): number {
    return this.#rate
  }
}
