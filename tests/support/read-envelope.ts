/** Reads envelopes as the tunnel does. */

import { DEFAULT_HEADER_LIMITS } from '../../tunnel/src/envelope/headers.ts'
import type { Item } from '../../tunnel/src/envelope/items.ts'
import { type Envelope, EnvelopeReader } from '../../tunnel/src/envelope/reader.ts'
import { envelopeOf, type Part } from './envelopes.ts'

/** Reads the bytes with generous limits, and keeps the payload of the types that `keep` accepts. */
export function readEnvelope(bytes: Buffer, keep: (type: string) => boolean = () => true): Envelope {
  const reader = new EnvelopeReader({ ...DEFAULT_HEADER_LIMITS, items: 1000, keep })
  reader.push(bytes)
  return reader.end()
}

/** Builds an envelope with one small item of each type. */
export function envelopeWith(...types: string[]): Envelope {
  return readEnvelope(envelopeOf({}, types.map(small)))
}

function small(type: string): Part {
  return { header: { type }, payload: '{}' }
}

/** Returns the types of the items. */
export function typesOf(items: Iterable<Item>): string[] {
  return [...items].map(({ type }) => type)
}
