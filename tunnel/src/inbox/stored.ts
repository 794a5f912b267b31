/** Envelopes that are read again from where they were stored. */

import { Rejection } from 'contract/rejections'
import { DEFAULT_HEADER_LIMITS, MAX_ITEMS } from '../envelope/headers.ts'
import { type Envelope, EnvelopeReader } from '../envelope/reader.ts'
import { type Summary, summarise } from './summary.ts'

/** Parses a stored envelope. Returns `undefined` when it cannot be read. */
export function readStored(envelope: Buffer): Envelope | undefined {
  const reader = new EnvelopeReader({ ...DEFAULT_HEADER_LIMITS, items: MAX_ITEMS, keep: () => false })
  try {
    reader.push(envelope)
    return reader.end()
  } catch (error) {
    if (error instanceof Rejection) return undefined
    throw error
  }
}

/** Summarises an envelope that an earlier release has stored without a summary. Returns `undefined` when it cannot be read. */
export function summariseStored(
  ids: { id: string; event_id: string | null },
  envelope: Buffer,
): Summary | undefined {
  const read = readStored(envelope)
  return read && summarise(ids, read.items, envelope)
}
