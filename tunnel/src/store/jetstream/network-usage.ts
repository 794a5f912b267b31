/** Entries that are not pending by network and project, as this replica knows them, so that none takes more than its share. */

import { networksAround } from 'contract/networks'
import { shareOf } from '../../pipeline/projects.ts'
import type { SpoolBounds } from '../../pipeline/spool.ts'

/** Entry, and the bytes of its body if it is there. */
export type Counted = Owner & { key: string; bytes: number; seq: number }

export type Owner = { network: string; project: string }
/** Shares of the limits that one client address and one project, or all mirrors, may fill. */
export type Shares = Pick<SpoolBounds, 'addressShare' | 'projectShare'>

/** Entries by key, the oldest first. */
type Usage = { bytes: number; lines: Map<string, Counted> }

export type Limits = { bytes: number; lines: number }

export class NetworkUsage {
  readonly #limits: () => Limits
  readonly #shares: Shares
  readonly #counted = new Map<string, Counted>()
  readonly #groups = new Map<string, Usage>()

  constructor(limits: () => Limits, shares: Shares) {
    this.#limits = limits
    this.#shares = shares
  }

  clear(): void {
    this.#counted.clear()
    this.#groups.clear()
  }

  add(counted: Counted): void {
    const { key, bytes } = counted
    this.forget(key)
    this.#counted.set(key, counted)
    for (const { name } of this.#groupsOf(counted)) {
      const usage = this.#groups.get(name) ?? { bytes: 0, lines: new Map() }
      usage.bytes += bytes
      usage.lines.set(key, counted)
      this.#groups.set(name, usage)
    }
  }

  forget(key: string): void {
    this.forgetBody(key)
    const counted = this.#counted.get(key)
    for (const { name } of counted ? this.#groupsOf(counted) : []) {
      const usage = this.#groups.get(name)
      usage?.lines.delete(key)
      if (usage?.lines.size === 0) this.#groups.delete(name)
    }
    this.#counted.delete(key)
  }

  forgetBody(key: string): void {
    const counted = this.#counted.get(key)
    if (!counted) return
    for (const { name } of this.#groupsOf(counted)) {
      const usage = this.#groups.get(name)
      if (usage) usage.bytes -= counted.bytes
    }
    counted.bytes = 0
  }

  /** Returns the bytes that one entry may have. */
  maxBytes(owner: Owner): number {
    const { bytes } = this.#limits()
    return Math.min(bytes, ...this.#groupsOf(owner).map(({ share }) => share * bytes))
  }

  /** Yields the oldest entries with a body while their network or project exceeds its share of the bytes. The caller forgets each. */
  *beyondBytes(owner: Owner): Generator<Counted> {
    for (const { usage, share } of this.#sharesOf(owner))
      for (const counted of usage?.lines.values() ?? []) {
        if (!usage || usage.bytes <= share * this.#limits().bytes) break
        if (counted.bytes > 0) yield counted
      }
  }

  /** Yields the oldest entries while their network or project exceeds its share of the lines. The caller forgets each. */
  *beyondLines(owner: Owner): Generator<Counted> {
    for (const { usage, share } of this.#sharesOf(owner))
      for (const counted of usage?.lines.values() ?? []) {
        if (!usage || usage.lines.size <= Math.max(1, share * this.#limits().lines)) break
        yield counted
      }
  }

  #sharesOf(owner: Owner): { usage: Usage | undefined; share: number }[] {
    return this.#groupsOf(owner).map(({ name, share }) => ({ usage: this.#groups.get(name), share }))
  }

  #groupsOf({ network, project }: Owner): { name: string; share: number }[] {
    const { addressShare, projectShare } = this.#shares
    const networks = networksAround(network).map(({ name, factor }) => ({
      name,
      share: Math.min(1, addressShare * factor),
    }))
    if (projectShare === 1) return networks
    return [...networks, { name: `project ${shareOf(project)}`, share: projectShare }]
  }
}
