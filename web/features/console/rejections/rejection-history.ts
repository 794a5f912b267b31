/** What replicas have told of their refusals, so that it stays known when one of them has ended. */

import type { Refusals } from 'tunnel/contract'
import { mergeRefusals } from './rejections.ts'

export type RefusalBook = {
  /** Takes in what replicas tell just now, and gives it with what was told before; settings are those of now. */
  note(told: readonly Refusals[]): Refusals
}

/** Bounded by the fates and codes: of each the earliest and the latest time and the newest sample. */
export function createRefusalBook(): RefusalBook {
  let known: Omit<Refusals, 'settings'> = { refusals: [], times: [] }
  return { note }

  function note(told: readonly Refusals[]): Refusals {
    const merged = mergeRefusals([{ ...known, settings: {} }, ...told])
    known = { refusals: merged.refusals, times: merged.times }
    return merged
  }
}
