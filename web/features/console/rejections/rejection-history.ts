/** Rejection codes with their last requests, kept after the replica that reported them has ended. */

import type { Rejections } from 'tunnel/contract'
import { mergeRejections } from './rejections.ts'

export type RejectionHistory = {
  /** Takes in what replicas tell just now, and gives it with what was told before; settings are those of now. */
  note(told: readonly Rejections[]): Rejections
}

/** Bounded by the outcomes and codes: of each the earliest and the latest time and the newest sample. */
export function createRejectionHistory(): RejectionHistory {
  let known: Omit<Rejections, 'settings'> = { rejections: [], times: [] }
  return { note }

  function note(told: readonly Rejections[]): Rejections {
    const merged = mergeRejections([{ ...known, settings: {} }, ...told])
    known = { rejections: merged.rejections, times: merged.times }
    return merged
  }
}
