/** Entries that are not pending by network, as this replica knows them, so that none takes more than its share. */

import type { EntryRef } from '../../pipeline/spool.ts'
import { networkShares } from '../bounds.ts'

/** Entry, and the bytes of its body if it is there. */
export type Counted = Owner & EntryRef & { bytes: number }

type Owner = { network: string }

/** Entries of a network by key, the oldest first. */
type Usage = { bytes: number; entries: Map<string, Counted> }

/** Bytes of bodies, and number of entries. Each may take a part of both, and together they are not more than one of them. */
export type Limits = { bytes: number; entries: number }

export class NetworkUsage {
  readonly #limits: () => Limits
  readonly #addressShare: number
  readonly #counted = new Map<string, Counted>()
  readonly #usages = new Map<string, Usage>()

  constructor(limits: () => Limits, addressShare: number) {
    this.#limits = limits
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
    this.#counted.delete(key)
    for (const { name, usage } of counted ? this.#networksOf(counted) : []) {
      if (usage?.entries.delete(key)) usage.bytes -= counted?.bytes ?? 0
      if (usage?.entries.size === 0) this.#usages.delete(name)
    }
  }

  /** Returns the bytes that one entry may have. */
  maxBytes(owner: Owner): number {
    const { bytes } = this.#limits()
    return Math.min(bytes, ...this.#networksOf(owner).map(({ share }) => share * bytes))
  }

  /** Yields the oldest other entries while a network of an entry exceeds its share. The caller forgets each. */
  *beyond(added: Counted): Generator<Counted> {
    const limits = this.#limits()
    for (const { usage, share } of this.#networksOf(added))
      for (const counted of usage?.entries.values() ?? []) {
        const { bytes = 0, entries } = usage ?? {}
        if (counted === added || bytes / limits.bytes + (entries?.size ?? 0) / limits.entries <= share) break
        yield counted
      }
  }

  #networksOf({ network }: Owner): { name: string; share: number; usage: Usage | undefined }[] {
    return networkShares(network, this.#addressShare).map(({ name, share }) => ({
      ...{ name, share, usage: this.#usages.get(name) },
    }))
  }
}
