/** Rate and concurrency of deliveries from the spool to one upstream. */

const INITIAL_RATE = 20 // attempts per second
const MAX_RATE = 10_000
const DOUBLING_MS = 1_000
const MAX_SAVED_MS = 250 // unused allowance expires after this
const MAX_WINDOW = 64 // attempts under way

/**
 * Starts at 20 attempts a second, doubles with each second of good responses, halves with each bad one. The window of attempts under way
 * starts at one, doubles with each round of prompt responses, and grows by one a round once responses are slow, as TCP's does: attempts that an
 * upstream cannot respond to before their deadline would reach it twice.
 */
export class Pace {
  readonly #clock: () => number
  readonly #minRate: number
  readonly #maxRate: number
  #rate: number
  #saved = 0
  #refilledAt: number
  #doubledAt: number
  #window = 1
  /** Window up to which it doubles. */
  #threshold = MAX_WINDOW

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number, maxRate = MAX_RATE) {
    this.#clock = clock
    this.#maxRate = maxRate
    this.#minRate = Math.min(INITIAL_RATE, maxRate)
    this.#rate = this.#minRate
    this.#refilledAt = clock()
    this.#doubledAt = this.#refilledAt
  }

  /** Begins again at the lowest rate with a single attempt, after an outage. */
  restart(): void {
    this.#rate = this.#minRate
    this.#window = 1
    this.#threshold = MAX_WINDOW
  }

  /** Returns how many attempts may begin now, while `active` are under way. */
  allowance(active: number): number {
    const time = this.#clock()
    const refill = (this.#rate * (time - this.#refilledAt)) / 1000
    this.#saved = Math.min(Math.max(1, (this.#rate * MAX_SAVED_MS) / 1000), this.#saved + refill)
    this.#refilledAt = time
    return Math.max(0, Math.min(Math.floor(this.#saved), Math.floor(this.#window) - active))
  }

  spend(attempts: number): void {
    this.#saved -= attempts
  }

  /** Notes a good response. */
  increase(timing: 'prompt' | 'slow'): void {
    if (timing === 'slow') this.#threshold = Math.min(this.#threshold, this.#window)
    const step = this.#window < this.#threshold ? 1 : 1 / this.#window
    this.#window = Math.min(MAX_WINDOW, this.#window + step)
    const time = this.#clock()
    if (time - this.#doubledAt < DOUBLING_MS) return
    this.#rate = Math.min(this.#maxRate, this.#rate * 2)
    this.#doubledAt = time
  }

  /** Notes a failure, or a response that asks for fewer requests. */
  decrease(): void {
    this.#rate = Math.max(this.#minRate, this.#rate / 2)
    this.#doubledAt = this.#clock()
    this.#threshold = Math.max(1, this.#window / 2)
    this.#window = this.#threshold
  }

  perSecond(): number {
    return this.#rate
  }
}
