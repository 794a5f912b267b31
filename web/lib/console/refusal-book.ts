/** What replicas have told of their refusals, so that it stays known when one of them has ended. */

import type { RefusalSample, Refusals } from 'tunnel/contract'
import { mergeRefusals } from './refused.ts'

export type RefusalBook = {
  /** Takes in what replicas tell just now, and gives it with what was told before; settings are those of now. */
  note(told: readonly Refusals[]): Refusals
}

/** Bounded by the codes: of each the earliest time and the newest sample. */
export function createRefusalBook(): RefusalBook {
  let known: RefusalSample[] = []
  return { note }

  function note(told: readonly Refusals[]): Refusals {
    const merged = mergeRefusals([{ refusals: known, settings: {} }, ...told])
    known = merged.refusals
    return merged
  }
}
