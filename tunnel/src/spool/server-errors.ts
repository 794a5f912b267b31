/** Counts responses 500 to spool entries, to find those that Sentry can never process. */

import { BoundedMap } from '../bounded-map.ts'

const MAX_RESPONSES = 8 // to one entry
const MAX_ENTRIES = 10_000

export class ServerErrors {
  /** The oldest is the one that got no response for longest. */
  readonly #counts = new BoundedMap<string, number>(MAX_ENTRIES)

  /** Counts a response 500 to the entry with this key. Returns `true` when Sentry has sent too many of them. */
  isExceeded(key: string): boolean {
    const count = (this.#counts.get(key) ?? 0) + 1
    if (count < MAX_RESPONSES) this.#counts.set(key, count)
    else this.#counts.delete(key)
    return count >= MAX_RESPONSES
  }

  /** Forgets an entry that has its final outcome. */
  forget(key: string): void {
    this.#counts.delete(key)
  }
}
