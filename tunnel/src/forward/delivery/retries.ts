/** Retries of single entries: those that Sentry refuses, or that fail alone, are sent ever more rarely, and are given up in the end. */

import { BoundedMap } from '../../pipeline/bounded-map.ts'
import { LONGEST_DELAY_MS } from '../../pipeline/spool.ts'

/**
 * Undecided result of an attempt. `passes` counts the decisions on other envelopes of the project so far. `isExpiring`: the entry expires
 * before its next attempt.
 */
export type Undecided = { isRefusal: boolean; passes: number; isExpiring: boolean }

type Tries = {
  /** Results so far, and the decisions on others at the time of the last one. */
  results: number
  passes: number
  /** Refusals, and failures while others passed: their number, and the time of the last one. */
  own: number
  ownAt: number
  /** Refusals without a failure in between: their number, and the time of the first one. */
  refusals: number
  refusedSince: number
}

const MAX_ENTRIES = 50_000
const PARK_MS = 60 * 60_000
const MAX_GAP_MS = PARK_MS / 2 // after a longer one the hour begins again: the upstream may have been away meanwhile
const FIRST_DELAY_MS = 1_000
const MIN_OWN = 8 // results that an entry has alone, before it is given up
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
   * that of the entry: it says nothing about when to send it again. A server that fails at random, or for some kind of envelope, recovers:
   * a failure ends no entry earlier than its age would.
   */
  note(key: string, { isRefusal, passes, isExpiring }: Undecided): number | 'give-up' | undefined {
    const now = this.#clock()
    const first = { results: 0, passes, own: 0, ownAt: now, refusals: 0, refusedSince: now }
    const last = this.#tries.get(key) ?? first
    const results = last.results + 1
    if (!isRefusal && (last.results === 0 || passes <= last.passes)) {
      this.#tries.set(key, { ...last, results, passes, refusals: 0 })
      return undefined
    }
    const { own, refusals, refusedSince } = now - last.ownAt > MAX_GAP_MS ? first : last
    const tries = {
      ...{ results, passes, own: own + 1, ownAt: now },
      refusals: isRefusal ? refusals + 1 : 0,
      refusedSince: refusals === 0 ? now : refusedSince,
    }
    this.#tries.set(key, tries)
    const leftMs = tries.refusedSince + PARK_MS - now
    if (isRefusal ? leftMs <= 0 && tries.refusals >= MIN_OWN : isExpiring && tries.own >= MIN_OWN)
      return 'give-up'
    const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** own)
    return isRefusal && leftMs > 0 ? Math.min(delayMs, leftMs) : delayMs
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
