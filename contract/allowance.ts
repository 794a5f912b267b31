/** Number of requests that are allowed in a window: of one client address, and of all together. */

import { networksAround } from './networks.ts'

export type AllowanceSettings = { perAddress: number; inAll: number; windowMs: number }

/** Holds `inAll` requests at most. The /56 and the /48 around an IPv6 address have growing shares. */
export class Allowance {
  readonly #settings: AllowanceSettings
  readonly #clock: () => number
  /** Requests of the window, the oldest first. */
  readonly #taken: { time: number; names: readonly string[] }[] = []
  readonly #counts = new Map<string, number>()

  /** `clock` is in milliseconds. */
  constructor(settings: AllowanceSettings, clock: () => number) {
    this.#settings = settings
    this.#clock = clock
  }

  /** Counts a request of a client network if it is allowed; returns `false` for any other. */
  take(network: string): boolean {
    const { perAddress, inAll } = this.#settings
    this.#forgetOld()
    const networks = networksAround(network)
    const isFull = networks.some(({ name, factor }) => this.#countOf(name) >= perAddress * factor)
    if (isFull || this.#taken.length >= inAll) return false
    const names = networks.map(({ name }) => name)
    this.#taken.push({ time: this.#clock(), names })
    for (const name of names) this.#counts.set(name, this.#countOf(name) + 1)
    return true
  }

  #countOf(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  #forgetOld(): void {
    const start = this.#clock() - this.#settings.windowMs
    const firstRecent = this.#taken.findIndex(({ time }) => time > start)
    const old = this.#taken.splice(0, firstRecent < 0 ? this.#taken.length : firstRecent)
    for (const name of old.flatMap(({ names }) => names)) {
      const count = this.#countOf(name) - 1
      if (count > 0) this.#counts.set(name, count)
      else this.#counts.delete(name)
    }
  }
}
