/** When envelopes were first and last kept from Sentry, by each outcome and reason: what a count does not tell. */

import type { OutcomeTime } from '../contract.ts'

export type OutcomeTimes = {
  note(stage: OutcomeTime['stage'], outcome: OutcomeTime['outcome'], reason?: string): void
  all(): OutcomeTime[]
}

const PASSED = new Set<OutcomeTime['outcome']>(['delivered', 'spooled'])

/** Bounded by the outcomes and reasons that there are. `now` in milliseconds since 1970. */
export function createOutcomeTimes(now: () => number): OutcomeTimes {
  const byWhy = new Map<string, OutcomeTime>()
  return { note, all: () => [...byWhy.values()] }

  function note(stage: OutcomeTime['stage'], outcome: OutcomeTime['outcome'], reason = ''): void {
    if (PASSED.has(outcome)) return
    const time = now()
    const key = `${stage} ${outcome} ${reason}`
    const its = byWhy.get(key)
    if (its) its.last = time
    else byWhy.set(key, { stage, outcome, reason, first: time, last: time })
  }
}
