/** Parses payloads of items, except those that would hold up the event loop. */

import { maxValues } from './header-parser.ts'

/** Parsing more values may take longer than 50 ms. An event of 1 MiB from an SDK has fewer. */
const MAX_VALUES = 50_000

/** Returns `undefined` for a payload that is no JSON, or has too many values. */
export function parsePayload(payload: Buffer): unknown {
  if (payload.length > MAX_VALUES && maxValues(payload) > MAX_VALUES) return undefined
  try {
    return JSON.parse(payload.toString())
  } catch {
    return undefined
  }
}
