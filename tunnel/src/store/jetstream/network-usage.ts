/** Entries that are not pending by network, as this replica knows them, so that none takes more than its share. */

import type { EntryRef } from '../../pipeline/spool.ts'
import { networkShares } from '../bounds.ts'

/** Entry, and the bytes that it takes; 0 without its body. */
export type Counted = Owner & EntryRef & { bytes: number }

type Owner = { network: string }

/** Entries of a network by key, the oldest first. */
type Usage = { bytes: number; lines: Map<string, Counted> }

export type Limits = { bytes: number; lines: number }

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
      const usage = this.#usages.get(name) ?? { bytes: 0, lines: new Map() }
      usage.bytes += bytes
      usage.lines.set(key, counted)
      this.#usages.set(name, usage)
    }
  }

  forget(key: string): void {
    this.forgetBody(key)
    const counted = this.#counted.get(key)
    this.#counted.delete(key)
    for (const { name, usage } of counted ? this.#networksOf(counted) : []) {
      usage?.lines.delete(key)
      if (usage?.lines.size === 0) this.#usages.delete(name)
    }
  }

  forgetBody(key: string): void {
    const counted = this.#counted.get(key)
    if (!counted) return
    for (const { usage } of this.#networksOf(counted)) if (usage) usage.bytes -= counted.bytes
    counted.bytes = 0
  }

  /** Returns the bytes that one entry may have. */
  maxBytes(owner: Owner): number {
    const { bytes } = this.#limits()
    return Math.min(bytes, ...this.#networksOf(owner).map(({ share }) => share * bytes))
  }

  /**
   * Yields the oldest entries while their network exceeds its share: whole ones beyond that of the lines, and those with a body
   * beyond that of the bytes. The caller forgets each, or its body.
   */
  *beyond(owner: Owner): Generator<{ counted: Counted; isWhole: boolean }> {
    const { bytes, lines } = this.#limits()
    for (const { usage, share } of this.#networksOf(owner))
      for (const counted of usage?.lines.values() ?? []) {
        const isWhole = usage !== undefined && usage.lines.size > Math.max(1, share * lines)
        if (!isWhole && (usage?.bytes ?? 0) <= share * bytes) break
        if (isWhole || counted.bytes > 0) yield { counted, isWhole }
      }
  }

  #networksOf({ network }: Owner): { name: string; share: number; usage: Usage | undefined }[] {
    return networkShares(network, this.#addressShare).map(({ name, share }) => ({
      ...{ name, share, usage: this.#usages.get(name) },
    }))
  }
}
