/** Number of concurrent deliveries from the spool to one upstream. */

const MAX_LIMIT = 64

/**
 * Doubles with each round of responses, halves with a failure and then grows by one a round, as TCP does. A slow upstream thus gets as
 * many deliveries as it can respond to, and one that hangs gets single ones.
 */
export class Concurrency {
  #limit = 1
  #threshold = MAX_LIMIT
  #active = 0
  #isResponding = false

  /** Begins again with a single delivery. */
  restart(): void {
    this.#limit = 1
    this.#threshold = MAX_LIMIT
    this.#isResponding = false
  }

  /** Returns `true` when the last delivery had a good response. */
  isResponding(): boolean {
    return this.#isResponding
  }

  /** Returns the number of deliveries under way. */
  active(): number {
    return this.#active
  }

  /** Returns how many deliveries may begin now. */
  allowance(): number {
    return Math.max(0, Math.floor(this.#limit) - this.#active)
  }

  begin(deliveries: number): void {
    this.#active += deliveries
  }

  end(): void {
    this.#active--
  }

  /** Notes a good response. */
  increase(): void {
    this.#isResponding = true
    const step = this.#limit < this.#threshold ? 1 : 1 / this.#limit
    this.#limit = Math.min(MAX_LIMIT, this.#limit + step)
  }

  /** Notes a failure, or a response that asks for fewer requests. */
  decrease(): void {
    this.#isResponding = false
    this.#threshold = Math.max(1, this.#limit / 2)
    this.#limit = this.#threshold
  }
}
