/** Preview of scrubbing: applies it to an envelope that is already stored. */

import { createRangeRemover } from '../../body/ranges.ts'
import { DEFAULT_HEADER_LIMITS } from '../../envelope/headers.ts'
import type { Item } from '../../envelope/items.ts'
import { EnvelopeReader } from '../../envelope/reader.ts'
import type { Scrubbed } from './scrubber.ts'

/** Reads the items of an envelope. Throws a `Rejection` for bytes that are no envelope. */
export function readItems(envelope: Buffer, keep: (type: string) => boolean): Item[] {
  const reader = new EnvelopeReader({ ...DEFAULT_HEADER_LIMITS, items: 1000, keep })
  reader.push(envelope)
  return reader.end().items
}

export function applyEdits(payload: Buffer, { edits }: Pick<Scrubbed, 'edits'>): Buffer {
  return Buffer.concat(createRangeRemover(edits)(payload))
}
