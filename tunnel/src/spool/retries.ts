/** Retries of single entries: those that Sentry refuses, or that fail alone, are sent ever more rarely, and are given up after an hour. */

import { BoundedMap } from '../bounded-map.ts'
import { LONGEST_DELAY_MS } from './spool.ts'

/** Undecided result of an attempt. `passes` counts the decisions on other envelopes of the project so far. */
export type Undecided = { isRefusal: boolean; passes: number }

type Tries = {
  /** Results so far, and the decisions on others at the time of the last one. */
  results: number
  passes: number
  /** Refusals, or failures while others passed: their number, and the times of the first and the last one. */
  own: number
  ownSince: number
  ownAt: number
}

const MAX_ENTRIES = 50_000
const PARK_MS = 60 * 60_000
const MAX_GAP_MS = PARK_MS / 2 // after a longer one the hour begins again: the upstream may have been away meanwhile
const FIRST_DELAY_MS = 1_000
const MIN_FAILURES = 8 // that an entry has alone, before it is given up
const MAX_AVOIDED = 1_000

export class Retries {
  readonly #clock: () => number
  /** The oldest is the one that had no result for longest. */
  readonly #tries = new BoundedMap<string, Tries>(MAX_ENTRIES)

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  /**
   * Notes a result. Returns the milliseconds until the next attempt, `give-up` after the last one, or `undefined` when the failure is not
   * that of the entry: it says nothing about when to send it again.
   */
  note(key: string, { isRefusal, passes }: Undecided): number | 'give-up' | undefined {
    const now = this.#clock()
    const last = this.#tries.get(key) ?? { results: 0, passes, own: 0, ownSince: now, ownAt: now }
    const isOwn = isRefusal || (last.results > 0 && passes > last.passes)
    const results = last.results + 1
    if (!isOwn) {
      this.#tries.set(key, { ...last, results, passes })
      return undefined
    }
    const isFirst = last.own === 0 || now - last.ownAt > MAX_GAP_MS
    const own = isFirst ? 1 : last.own + 1
    const ownSince = isFirst ? now : last.ownSince
    this.#tries.set(key, { results, passes, own, ownSince, ownAt: now })
    const leftMs = ownSince + PARK_MS - now
    if (leftMs <= 0 && (isRefusal || own >= MIN_FAILURES)) return 'give-up'
    const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (own - 1))
    return leftMs > 0 ? Math.min(delayMs, leftMs) : delayMs
  }

  /** Forgets an entry that has its final outcome. */
  forget(key: string): void {
    this.#tries.delete(key)
  }

  /** Returns the keys of entries with results, at most 1,000 of the last ones: a probe must not be one of them. */
  keys(): string[] {
    return [...this.#tries.keys()].slice(-MAX_AVOIDED)
  }
}
