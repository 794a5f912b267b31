/** Envelopes that are read again from where they were stored. */

import { Rejection } from 'contract/rejections'
import { DEFAULT_HEADER_LIMITS, MAX_ITEMS } from '../envelope/headers.ts'
import { type Envelope, EnvelopeReader } from '../envelope/reader.ts'
import { type Summary, summarise } from './summary.ts'

/** Parses a stored envelope. Throws a `Rejection` when it cannot be read. */
export function readStored(envelope: Buffer): Envelope {
  const reader = new EnvelopeReader({ ...DEFAULT_HEADER_LIMITS, items: MAX_ITEMS, keep: () => false })
  reader.push(envelope)
  return reader.end()
}

/** Summarises an envelope that an earlier release has stored without a summary. Returns `undefined` when it cannot be read. */
export function summariseStored(
  ids: { id: string; event_id: string | null },
  envelope: Buffer,
): Summary | undefined {
  try {
    return summarise(ids, readStored(envelope).items, envelope)
  } catch (error) {
    if (error instanceof Rejection) return undefined
    throw error
  }
}
