/** First and last time of each outcome and reason other than success. */

import type { OutcomeTime } from 'contract/admin-api'

const SUCCESSES = new Set<OutcomeTime['outcome']>(['delivered', 'spooled'])

/** Bounded by the sets of outcomes and reasons. */
export class OutcomeTimes {
  readonly #now: () => number
  readonly #byKey = new Map<string, OutcomeTime>()

  /** `now` is in milliseconds since 1970. */
  constructor(now: () => number) {
    this.#now = now
  }

  note(stage: OutcomeTime['stage'], outcome: OutcomeTime['outcome'], reason = ''): void {
    if (SUCCESSES.has(outcome)) return
    const time = this.#now()
    const key = `${stage} ${outcome} ${reason}`
    const known = this.#byKey.get(key)
    if (known) known.last = time
    else this.#byKey.set(key, { stage, outcome, reason, first: time, last: time })
  }

  all(): OutcomeTime[] {
    return [...this.#byKey.values()]
  }
}
