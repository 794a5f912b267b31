/** Storm protection: counts errors by their group, and samples those of which too many arrive. `docs/filters.md` describes it. */

import { object } from 'contract/json'
import type { PolicyMode, SamplingReason, StormStatus } from 'contract/policies'
import { joinAll } from '../envelope/body/bodies.ts'
import { type Group, groupOf, groupOfAttachment } from '../envelope/grouping.ts'
import { addDependants, type Item } from '../envelope/items.ts'
import { parsePayload } from '../envelope/payload.ts'
import { BoundedMap } from '../pipeline/bounded-map.ts'
import type { Stage } from '../pipeline/pipeline.ts'
import { LimitCounters } from './limit-counters.ts'

/** Removes errors of a storm, and their attachments. In the mode `observe` it only counts. */
export function stormStage(storms: Storms): Stage<'project' | 'remaining', 'remove'> {
  return function sampleStorms(ctx) {
    const { items } = ctx.remaining()
    const { name } = ctx.project
    const excess = items.filter(
      (item) => (item.type === 'event' || item.createsEvent) && storms.isExcess(name, item),
    )
    if (excess.length === 0 || storms.mode === 'observe') return undefined
    const removed = new Set(excess)
    addDependants(items, removed)
    ctx.remove(removed, 'storm' satisfies SamplingReason)
    return undefined
  }
}

export type StormSettings = {
  /** Identical errors a minute that pass; 0 for any number. */
  limit: number
  mode: PolicyMode
}

export type StormDeps = {
  /** Milliseconds since 1970. */
  now: () => number
  /** Counts errors that are removed, or would be. */
  onRemoved: (mode: PolicyMode, project: string, count: number) => void
  /** Scrubs a title, which an operator sees. */
  scrub: (title: string) => string
}

/** `minute` is the last one with more errors than the limit. */
type Storm = StormStatus & { minute: number }

/** Above the limit, 1 of `SAMPLE_SIZE` identical errors passes. */
const SAMPLE_SIZE = 100
/** Errors of a project a minute that are always read, if a sample is enough. */
const ALWAYS_READ = 1_000
const MINUTE_MS = 60_000
const MAX_GROUPS = 5_000
const MAX_TITLE = 120

export class Storms {
  readonly #settings: StormSettings
  readonly #deps: StormDeps
  /** Errors in a minute, by project and group. */
  readonly #counts: LimitCounters
  /** Errors in a minute, by project. */
  readonly #errors: LimitCounters
  readonly #storms = new BoundedMap<string, Storm>(MAX_GROUPS)

  constructor(settings: StormSettings, deps: StormDeps) {
    this.#settings = settings
    this.#deps = deps
    const each = { now: deps.now, windowMs: MINUTE_MS, keys: MAX_GROUPS }
    this.#counts = new LimitCounters(each)
    this.#errors = new LimitCounters(each)
  }

  get mode(): PolicyMode {
    return this.#settings.mode
  }

  /** Returns `true` if the payload of items of a type is read. */
  reads(type: string): boolean {
    return type === 'event'
  }

  /** Counts an error. Returns `true` when it is to be removed. An error without a group passes. */
  isExcess(project: string, item: Item): boolean {
    const weight = this.#weightOf(project)
    const group = weight === 0 ? undefined : groupOfItem(item)
    if (!group) return false
    const key = `${project} ${group.id}`
    const removed = this.#count({ key, project, group, before: this.#counts.read(key) ?? 0, weight })
    if (removed > 0) this.#deps.onRemoved(this.mode, project, removed)
    return removed > 0
  }

  /** Lists the storms of the last minute, the largest first. */
  active(): StormStatus[] {
    return [...this.#storms.values()]
      .filter((storm) => this.#goesOn(storm))
      .map(({ minute: _, ...status }) => status)
      .sort((a, b) => b.seen - a.seen)
  }

  /**
   * Returns the number of errors of a project for which this one counts; 0 when it is not read. The mode `observe` reads one in ten
   * beyond 1,000 a minute, and one in 100 beyond 10,000.
   */
  #weightOf(project: string): number {
    if (this.mode === 'enforce') return 1
    const count = this.#errors.add(project, 1)
    const weight = count <= ALWAYS_READ ? 1 : count <= 10 * ALWAYS_READ ? 10 : 100
    return count % weight === 0 ? weight : 0
  }

  /** Counts an error for `weight` ones. Returns how many of them are removed, or would be. */
  #count({ key, project, group, before, weight }: Counted): number {
    const count = this.#counts.add(key, weight)
    const sent = this.#passing(count) - this.#passing(before)
    const known = this.#storms.get(key)
    const isBeyond = this.#settings.limit > 0 && count > this.#settings.limit
    let storm = known && this.#goesOn(known) ? known : undefined
    if (isBeyond && !storm) {
      const begun = { since: this.#deps.now(), seen: before, sent: before, minute: this.#minute() }
      storm = { fingerprint: group.id, project, title: this.#titleOf(group.title), ...begun }
    }
    if (storm) {
      if (isBeyond) storm.minute = this.#minute()
      this.#storms.set(key, storm) // to the end: storms that have ended are forgotten first
      storm.seen += weight
      storm.sent += sent
    }
    return weight - sent
  }

  /** A storm goes on while each minute has more errors than the limit. */
  #goesOn({ minute }: Storm): boolean {
    return minute >= this.#minute() - 1
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

type Counted = { key: string; project: string; group: Group; before: number; weight: number }

/** Returns the group of an error; `undefined` for one without a group, and for a payload that was not kept as a whole or takes long to parse. */
function groupOfItem(item: Item): Group | undefined {
  if (item.createsEvent) return groupOfAttachment(item)
  const whole = joinAll(item.payload)
  return whole.length < item.bytes ? undefined : groupOf(object(parsePayload(whole)))
}
