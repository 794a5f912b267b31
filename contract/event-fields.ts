/** Fields of events that titles and groups are made of. */

import { type Json, list, object, scalarText as text } from './json.ts'

/** Returns the message of an event without an exception. */
export function messageOf({ logentry, message }: Json): string {
  for (const entry of [object(logentry), object(message)]) {
    const written = text(entry.formatted) || text(entry.message)
    if (written) return written
  }
  return text(message)
}

/** Reads `{ values: [...] }` or a list. */
export function valuesOf(given: unknown): Json[] {
  return (Array.isArray(given) ? given : list(object(given).values)).map(object)
}
