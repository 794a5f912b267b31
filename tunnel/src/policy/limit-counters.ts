/** Amounts by key that are forgotten with time. Limits by address and project, quotas and storm protection count with them. */

import type { CountedNetwork } from 'contract/networks'

/** `perSecond` is subtracted steadily, as a token bucket refills. With `windowMs`, an amount ends with its window. */
type Forgetting = { perSecond: number } | { windowMs: number }

export type LimitCounterSettings = Forgetting & {
  /** Milliseconds of any clock. */
  now: () => number
  /** Keys that are remembered: at least those used last, and at most twice as many. */
  keys: number
}

/** `time` is that of the last change. */
type Count = { amount: number; time: number }

export class LimitCounters {
  readonly #now: () => number
  readonly #keys: number
  readonly #perMs: number
  readonly #windowMs: number | undefined
  // Two generations: a key that is used again moves to the young one, and the old one is dropped as a whole. An LRU list takes twice as long.
  #young = new Map<string, Count>()
  #old = new Map<string, Count>()

  constructor(settings: LimitCounterSettings) {
    this.#now = settings.now
    this.#keys = settings.keys
    this.#perMs = 'perSecond' in settings ? settings.perSecond / 1000 : 0
    this.#windowMs = 'windowMs' in settings ? settings.windowMs : undefined
  }

  /** Number of keys in memory. */
  get size(): number {
    return this.#young.size + this.#old.size
  }

  /** Returns the amount of a key; `undefined` for one that was never counted, or is forgotten. */
  read(key: string): number | undefined {
    const count = this.#find(key)
    return count && this.#update(count).amount
  }

  /** Adds to the amount of a key, and returns the sum. A negative number subtracts. */
  add(key: string, amount: number): number {
    const count = this.#find(key) ?? this.#put(key, { amount: 0, time: this.#now() })
    this.#update(count)
    count.amount = Math.max(0, count.amount + amount)
    return count.amount
  }

  /** Lists the keys in memory with their amounts. */
  *entries(): Generator<[key: string, amount: number]> {
    for (const counts of [this.#old, this.#young])
      for (const [key, count] of counts) yield [key, this.#update(count).amount]
  }

  /** Reports whether an amount more would exceed the limit of a network, or of one around it. */
  wouldExceed(networks: readonly CountedNetwork[], amount: number, limit: number): boolean {
    return networks.some(({ name, factor }) => (this.read(name) ?? 0) + amount / factor > limit)
  }

  /** Adds to a network and those around it. These count in parts, since they may send more. Returns the largest amount. */
  addToAll(networks: readonly CountedNetwork[], amount: number): number {
    let largest = 0
    for (const { name, factor } of networks) largest = Math.max(largest, this.add(name, amount / factor))
    return largest
  }

  #find(key: string): Count | undefined {
    const known = this.#young.get(key)
    if (known) return known
    const count = this.#old.get(key)
    if (!count) return undefined
    this.#old.delete(key)
    return this.#put(key, count)
  }

  #put(key: string, count: Count): Count {
    if (this.#young.size >= this.#keys) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, count)
    return count
  }

  #update(count: Count): Count {
    const time = this.#now()
    const windowMs = this.#windowMs
    if (windowMs === undefined) count.amount = Math.max(0, count.amount - this.#perMs * (time - count.time))
    else if (Math.floor(count.time / windowMs) !== Math.floor(time / windowMs)) count.amount = 0
    count.time = time
    return count
  }
}
