/** Counts responses 500 to spool entries, to find those that Sentry can never process. */

const MAX_RESPONSES = 8 // to one entry
const MAX_ENTRIES = 10_000

export class ServerErrors {
  readonly #counts = new Map<string, number>()

  /** Counts a response 500 to the entry with this key. Returns `true` when Sentry has sent too many of them. */
  isExceeded(key: string): boolean {
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.delete(key) // the oldest of the map is the one that got no response for longest
    if (count >= MAX_RESPONSES) return true
    this.#counts.set(key, count)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > MAX_ENTRIES && oldest !== undefined) this.#counts.delete(oldest)
    return false
  }

  /** Forgets an entry that has its final outcome. */
  forget(key: string): void {
    this.#counts.delete(key)
  }
}
