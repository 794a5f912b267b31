/** Storm protection: counts errors by their fingerprint, and samples those of which too many arrive. `docs/quota.md` describes it. */

import type { PolicyMode, StormStatus } from '../../contract/policies.ts'
import type { Item } from '../../envelope/items.ts'
import { type Fingerprint, fingerprintOf } from './fingerprint.ts'

export type StormSettings = {
  /** Identical errors a minute that pass; 0 for any number. */
  limit: number
  mode: PolicyMode
}

export type StormDeps = {
  /** Milliseconds since 1970. */
  now: () => number
  /** Counts an error that is removed, or would be. */
  onRemoved: (mode: PolicyMode, project: string) => void
  /** Scrubs a title, which an operator sees. */
  scrub: (title: string) => string
}

type Storm = Pick<StormStatus, 'since' | 'seen' | 'sent'>

/** Errors of one fingerprint in the minute of the last one. */
type Counter = { title: string; project: string; minute: number; count: number; storm: Storm | undefined }

/** One in so many passes beyond the limit. */
export const SAMPLE_SIZE = 100
const MINUTE_MS = 60_000
const MAX_FINGERPRINTS = 5_000
const MAX_LISTED = 20

export class Storms {
  readonly #settings: StormSettings
  readonly #deps: StormDeps
  /** By project and fingerprint; the least recently seen first. */
  readonly #counters = new Map<string, Counter>()
  readonly #firstOccurrences = new WeakSet<Item>()

  constructor(settings: StormSettings, deps: StormDeps) {
    this.#settings = settings
    this.#deps = deps
  }

  get mode(): PolicyMode {
    return this.#settings.mode
  }

  get limit(): number {
    return this.#settings.limit
  }

  /** Tells if the payload of items of a type is read. */
  reads(type: string): boolean {
    return type === 'event'
  }

  /** Counts an error. Returns `true` when it is to be removed. An error without a fingerprint passes. */
  isExcess(project: string, item: Item): boolean {
    const payload = Buffer.concat(item.payload)
    const fingerprint = payload.length < item.bytes ? undefined : fingerprintOf(payload)
    if (!fingerprint) return false
    const counter = this.#counterOf(project, fingerprint)
    if (!counter) {
      this.#firstOccurrences.add(item)
      return false
    }
    const isExcess = this.#isExcess(counter)
    if (isExcess) this.#deps.onRemoved(this.mode, project)
    return isExcess
  }

  /** Reports whether no error with its fingerprint was counted before it, as far as this replica remembers. */
  isFirstOccurrence(item: Item): boolean {
    return this.#firstOccurrences.has(item)
  }

  /** Lists the storms of the last minute, the largest first. */
  active(): StormStatus[] {
    const minute = this.#minute()
    const storms = [...this.#counters].flatMap(([key, { title, project, storm, minute: last }]) =>
      storm && last >= minute - 1
        ? [{ fingerprint: key.slice(project.length + 1), project, title, ...storm }]
        : [],
    )
    return storms.sort((a, b) => b.seen - a.seen).slice(0, MAX_LISTED)
  }

  /** Returns the counter with this error; `undefined` for the first one. */
  #counterOf(project: string, { key, title }: Fingerprint): Counter | undefined {
    const name = `${project} ${key}`
    const minute = this.#minute()
    const known = this.#counters.get(name)
    const counter = known ?? { title: this.#deps.scrub(title), project, minute, count: 0, storm: undefined }
    this.#counters.delete(name) // to the end
    this.#counters.set(name, counter)
    if (this.#counters.size > MAX_FINGERPRINTS) this.#forgetOldest()
    if (counter.minute !== minute) this.#beginMinute(counter, minute)
    counter.count++
    return known
  }

  /** A storm goes on while each minute has more errors than the limit. */
  #beginMinute(counter: Counter, minute: number): void {
    const goesOn = counter.minute === minute - 1 && counter.count > this.#settings.limit
    if (!goesOn) counter.storm = undefined
    counter.minute = minute
    counter.count = 0
  }

  #isExcess(counter: Counter): boolean {
    const { limit } = this.#settings
    const excess = limit === 0 ? 0 : counter.count - limit
    if (excess > 0) counter.storm ??= { since: this.#deps.now(), seen: limit, sent: limit }
    const isRemoved = excess > 0 && excess % SAMPLE_SIZE !== 0
    if (counter.storm) {
      counter.storm.seen++
      if (!isRemoved) counter.storm.sent++
    }
    return isRemoved
  }

  #forgetOldest(): void {
    const [oldest] = this.#counters.keys()
    if (oldest !== undefined) this.#counters.delete(oldest)
  }

  #minute(): number {
    return Math.floor(this.#deps.now() / MINUTE_MS)
  }
}
