/** Entries that are not pending by network, as this replica knows them, so that no network takes more than its share. */

import { networksAround } from 'contract/networks'

/** Entry, and the bytes of its body if it is there. */
export type Counted = { key: string; network: string; bytes: number; seq: number }

/** Entries by key, the oldest first. */
type Usage = { bytes: number; lines: Map<string, Counted> }

export type Limits = { bytes: number; lines: number }

export class NetworkUsage {
  readonly #limits: () => Limits
  readonly #addressShare: number
  readonly #counted = new Map<string, Counted>()
  readonly #networks = new Map<string, Usage>()

  /** `addressShare` is the share of the limits that one client address may fill. */
  constructor(limits: () => Limits, addressShare: number) {
    this.#limits = limits
    this.#addressShare = addressShare
  }

  clear(): void {
    this.#counted.clear()
    this.#networks.clear()
  }

  add(counted: Counted): void {
    const { key, network, bytes } = counted
    this.forget(key)
    this.#counted.set(key, counted)
    for (const { name } of networksAround(network)) {
      const usage = this.#networks.get(name) ?? { bytes: 0, lines: new Map() }
      usage.bytes += bytes
      usage.lines.set(key, counted)
      this.#networks.set(name, usage)
    }
  }

  forget(key: string): void {
    this.forgetBody(key)
    for (const { name } of networksAround(this.#counted.get(key)?.network ?? '')) {
      const usage = this.#networks.get(name)
      usage?.lines.delete(key)
      if (usage?.lines.size === 0) this.#networks.delete(name)
    }
    this.#counted.delete(key)
  }

  forgetBody(key: string): void {
    const counted = this.#counted.get(key)
    if (!counted) return
    for (const { name } of networksAround(counted.network)) {
      const usage = this.#networks.get(name)
      if (usage) usage.bytes -= counted.bytes
    }
    counted.bytes = 0
  }

  /** Returns the bytes that one entry of a network may have. */
  maxBytes(network: string): number {
    const { bytes } = this.#limits()
    return Math.min(bytes, ...this.#sharesOf(network).map(({ share }) => share * bytes))
  }

  /** Yields the oldest entries with a body while their network exceeds its share of the bytes. The caller forgets each. */
  *beyondBytes(network: string): Generator<Counted> {
    for (const { usage, share } of this.#sharesOf(network))
      for (const counted of usage?.lines.values() ?? []) {
        if (!usage || usage.bytes <= share * this.#limits().bytes) break
        if (counted.bytes > 0) yield counted
      }
  }

  /** Yields the oldest entries while their network exceeds its share of the lines. The caller forgets each. */
  *beyondLines(network: string): Generator<Counted> {
    for (const { usage, share } of this.#sharesOf(network))
      for (const counted of usage?.lines.values() ?? []) {
        if (!usage || usage.lines.size <= Math.max(1, share * this.#limits().lines)) break
        yield counted
      }
  }

  #sharesOf(network: string): { usage: Usage | undefined; share: number }[] {
    return networksAround(network).map(({ name, factor }) => ({
      usage: this.#networks.get(name),
      share: Math.min(1, this.#addressShare * factor),
    }))
  }
}
