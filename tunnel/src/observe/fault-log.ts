/** Log of the faults of delivery: one line when a fault begins, and one when delivery works again. */

import type { Logger } from 'pino'

const QUIET_MS = 10_000 // without a fault, before a success counts as the end of it
const MAX_MESSAGES = 10

export class FaultLog {
  readonly #logger: Pick<Logger, 'error' | 'info'>
  readonly #clock: () => number
  readonly #messages = new Set<string>()
  #lastFault = 0

  /** `clock` is monotonic, in milliseconds. */
  constructor(logger: Pick<Logger, 'error' | 'info'>, clock: () => number) {
    this.#logger = logger
    this.#clock = clock
  }

  fault(err: unknown): void {
    this.#lastFault = this.#clock()
    const message = String(err)
    if (this.#messages.has(message) || this.#messages.size === MAX_MESSAGES) return
    this.#messages.add(message)
    this.#logger.error({ err }, 'the spool failed')
  }

  success(): void {
    if (this.#messages.size === 0 || this.#clock() - this.#lastFault < QUIET_MS) return
    this.#messages.clear()
    this.#logger.info('the spool works again')
  }
}
