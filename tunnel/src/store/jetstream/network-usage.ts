/** Entries that are not pending by network, as this replica knows them, so that none takes more than its share. */

import type { EntryRef } from '../../pipeline/spool.ts'
import { networkShares } from '../bounds.ts'

/** Entry, and the bytes that it counts for. */
export type Counted = Owner & EntryRef & { bytes: number }

type Owner = { network: string }

/** Entries of a network by key, the oldest first. */
type Usage = { bytes: number; entries: Map<string, Counted> }

export class NetworkUsage {
  readonly #maxBytes: () => number
  readonly #addressShare: number
  readonly #counted = new Map<string, Counted>()
  readonly #usages = new Map<string, Usage>()

  /** `maxBytes` is the bound of all entries. */
  constructor(maxBytes: () => number, addressShare: number) {
    this.#maxBytes = maxBytes
    this.#addressShare = addressShare
  }

  clear(): void {
    this.#counted.clear()
    this.#usages.clear()
  }

  add(counted: Counted): void {
    const { key, bytes } = counted
    this.forget(key)
    this.#counted.set(key, counted)
    for (const { name } of this.#networksOf(counted)) {
      const usage = this.#usages.get(name) ?? { bytes: 0, entries: new Map() }
      usage.bytes += bytes
      usage.entries.set(key, counted)
      this.#usages.set(name, usage)
    }
  }

  forget(key: string): void {
    const counted = this.#counted.get(key)
    if (!counted) return
    this.#counted.delete(key)
    for (const { name, usage } of this.#networksOf(counted)) {
      if (!usage) continue
      usage.bytes -= counted.bytes
      usage.entries.delete(key)
      if (usage.entries.size === 0) this.#usages.delete(name)
    }
  }

  /** Returns the bytes that one entry may have. */
  maxBytes(owner: Owner): number {
    const bytes = this.#maxBytes()
    return Math.min(bytes, ...this.#networksOf(owner).map(({ share }) => share * bytes))
  }

  /** Yields the oldest entries, but never the last one, while their network exceeds its share. The caller forgets each. */
  *beyond(owner: Owner): Generator<Counted> {
    for (const { usage, share } of this.#networksOf(owner))
      for (const counted of usage?.entries.values() ?? []) {
        if (!usage || usage.entries.size === 1 || usage.bytes <= share * this.#maxBytes()) break
        yield counted
      }
  }

  #networksOf({ network }: Owner): { name: string; share: number; usage: Usage | undefined }[] {
    return networkShares(network, this.#addressShare).map(({ name, share }) => ({
      ...{ name, share, usage: this.#usages.get(name) },
    }))
  }
}
