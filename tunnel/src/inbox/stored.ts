/** Summary of an envelope that an earlier release has stored without one. */

import { DEFAULT_HEADER_LIMITS } from '../envelope/headers.ts'
import { EnvelopeReader } from '../envelope/reader.ts'
import { Rejection } from '../rejections.ts'
import { type Summary, summarise } from './summary.ts'

const MAX_ITEMS = 100_000 // the largest MAX_ITEMS

/** Returns `undefined` for an envelope that cannot be read. */
export function summariseStored(
  ids: { id: string; event_id: string | null },
  envelope: Buffer,
): Summary | undefined {
  const reader = new EnvelopeReader({ ...DEFAULT_HEADER_LIMITS, items: MAX_ITEMS, keep: () => false })
  try {
    reader.push(envelope)
    return summarise(ids, reader.end().items, envelope)
  } catch (error) {
    if (error instanceof Rejection) return undefined
    throw error
  }
}
