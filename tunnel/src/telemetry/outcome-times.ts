/** When envelopes were first and last kept from Sentry, by each fate and reason: what a count does not tell. */

import type { FateTime } from '../contract.ts'

export type FateTimes = {
  note(stage: FateTime['stage'], fate: FateTime['fate'], reason?: string): void
  all(): FateTime[]
}

const PASSED = new Set<FateTime['fate']>(['delivered', 'spooled'])

/** Bounded by the fates and reasons that there are. `now` in milliseconds since 1970. */
export function createFateTimes(now: () => number): FateTimes {
  const byWhy = new Map<string, FateTime>()
  return { note, all: () => [...byWhy.values()] }

  function note(stage: FateTime['stage'], fate: FateTime['fate'], reason = ''): void {
    if (PASSED.has(fate)) return
    const time = now()
    const key = `${stage} ${fate} ${reason}`
    const its = byWhy.get(key)
    if (its) its.last = time
    else byWhy.set(key, { stage, fate, reason, first: time, last: time })
  }
}
