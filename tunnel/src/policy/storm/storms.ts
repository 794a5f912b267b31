/** Storm protection: counts errors by their group, and samples those of which too many arrive. `docs/quota.md` describes it. */

import { object, text } from 'contract/json'
import type { PolicyMode, StormStatus } from 'contract/policies'
import { BoundedMap } from '../../bounded-map.ts'
import { type Group, groupOf } from '../../envelope/grouping.ts'
import type { Item } from '../../envelope/items.ts'
import { parsePayload } from '../../envelope/payload.ts'

export type StormSettings = {
  /** Identical errors a minute that pass; 0 for any number. */
  limit: number
  mode: PolicyMode
  /** With `sample`, only some errors of a project are read while it has many, and count for the others. */
  reading: 'all' | 'sample'
}

export type StormDeps = {
  /** Milliseconds since 1970. */
  now: () => number
  /** Counts errors that are removed, or would be. */
  onRemoved: (mode: PolicyMode, project: string, count: number) => void
  /** Scrubs a title, which an operator sees. */
  scrub: (title: string) => string
}

type Storm = Pick<StormStatus, 'since' | 'seen' | 'sent'>

/** Errors of one group in the minute of the last one. */
type Counter = { title: string; project: string; minute: number; count: number; storm: Storm | undefined }

/** One in so many passes beyond the limit. */
const SAMPLE_SIZE = 100
/** Errors of a project a minute that are always read; beyond it one in `READ_ONE_IN`, if a sample is enough. */
const ALWAYS_READ = 1_000
const READ_ONE_IN = 10
const MINUTE_MS = 60_000
const MAX_FINGERPRINTS = 5_000
const MAX_TITLE = 120

export class Storms {
  readonly #settings: StormSettings
  readonly #deps: StormDeps
  /** By project and group; the least recently seen first. */
  readonly #counters = new BoundedMap<string, Counter>(MAX_FINGERPRINTS)
  /** Errors in a minute, by project. */
  readonly #errors = new Map<string, { minute: number; count: number }>()
  readonly #firstOccurrences = new WeakSet<Item>()

  constructor(settings: StormSettings, deps: StormDeps) {
    this.#settings = settings
    this.#deps = deps
  }

  get mode(): PolicyMode {
    return this.#settings.mode
  }

  /** Tells if the payload of items of a type is read. */
  reads(type: string): boolean {
    return type === 'event'
  }

  /** Counts an error. Returns `true` when it is to be removed. An error without a group passes. */
  isExcess(project: string, item: Item): boolean {
    const weight = this.#weightOf(project)
    if (weight === 0) return false
    const group = groupOfItem(item)
    if (!group) return false
    const counter = this.#counterOf(project, group)
    if (!counter) {
      this.#firstOccurrences.add(item)
      return false
    }
    const removed = this.#count(counter, weight)
    if (removed > 0) this.#deps.onRemoved(this.mode, project, removed)
    return removed > 0
  }

  /** Reports whether no error of its group was counted before it, as far as this replica remembers. */
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
    return storms.sort((a, b) => b.seen - a.seen)
  }

  /** Returns the counter with this error; `undefined` for the first one. */
  #counterOf(project: string, { id, title }: Group): Counter | undefined {
    const name = `${project} ${id}`
    const minute = this.#minute()
    const known = this.#counters.get(name)
    const counter = known ?? { title: this.#titleOf(title), project, minute, count: 0, storm: undefined }
    this.#counters.set(name, counter)
    if (counter.minute !== minute) this.#beginMinute(counter, minute)
    if (!known) counter.count = 1
    return known
  }

  /** Returns the number of errors of a project for which this one counts; 0 when it is not read. */
  #weightOf(project: string): number {
    if (this.#settings.reading === 'all') return 1
    const minute = this.#minute()
    let errors = this.#errors.get(project)
    if (errors?.minute !== minute) {
      errors = { minute, count: 0 }
      this.#errors.set(project, errors)
    }
    const beyond = ++errors.count - ALWAYS_READ
    if (beyond <= 0) return 1
    return beyond % READ_ONE_IN === 0 ? READ_ONE_IN : 0
  }

  /** A storm goes on while each minute has more errors than the limit. */
  #beginMinute(counter: Counter, minute: number): void {
    const goesOn = counter.minute === minute - 1 && counter.count > this.#settings.limit
    if (!goesOn) counter.storm = undefined
    counter.minute = minute
    counter.count = 0
  }

  /** Counts errors. Returns how many of them are removed, or would be. */
  #count(counter: Counter, weight: number): number {
    const before = counter.count
    counter.count += weight
    const sent = this.#passing(counter.count) - this.#passing(before)
    if (this.#settings.limit > 0 && counter.count > this.#settings.limit)
      counter.storm ??= { since: this.#deps.now(), seen: before, sent: before }
    if (counter.storm) {
      counter.storm.seen += weight
      counter.storm.sent += sent
    }
    return weight - sent
  }

  /** Returns how many of so many identical errors a minute pass. */
  #passing(count: number): number {
    const { limit } = this.#settings
    const excess = limit === 0 ? 0 : Math.max(0, count - limit)
    return count - excess + Math.floor(excess / SAMPLE_SIZE)
  }

  /** Scrubs a title before it is cut: half an address would match no rule. V8's substrings keep the whole payload in memory, a copy does not. */
  #titleOf(title: string): string {
    return Buffer.from(this.#deps.scrub(title).slice(0, MAX_TITLE)).toString()
  }

  #minute(): number {
    return Math.floor(this.#deps.now() / MINUTE_MS)
  }
}

/**
 * Returns the group of an error; `undefined` for one without a group, and for a payload that was not kept as a whole or takes long to parse.
 * Crash reports cannot be read: those of one format count as identical.
 */
function groupOfItem({ createsEvent, header, payload, bytes }: Item): Group | undefined {
  if (createsEvent) {
    const title = `Attachment ${text(header.attachment_type)}`
    return { id: title, title }
  }
  const whole = Buffer.concat(payload)
  return whole.length < bytes ? undefined : groupOf(object(parsePayload(whole)))
}
