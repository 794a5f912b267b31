/** Counter table: all that is counted about envelopes. Metrics, snapshots and rejections are views of it. */

import type {
  FinalOutcome,
  MirrorResult,
  Outcome,
  OutcomeTime,
  ReachResult,
  Receipt,
  SpoolOutcome,
} from 'contract/admin-api'
import type { FigureCounts } from 'contract/figures'
import type { PolicyMode } from 'contract/policies'
import { categoryOf } from '../envelope/summary.ts'
import type { Projects } from '../pipeline/projects.ts'
import { noCounts } from './snapshots.ts'

/** Upper bounds of durations, in seconds. */
export const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

/** Histogram of durations. */
export class Durations {
  /** Number by bound, and last of those above all bounds. */
  readonly #counts = new Float64Array(SECONDS.length + 1)
  /** Seconds. */
  sum = 0

  add(ms: number): void {
    const seconds = ms / 1000
    let bound = 0
    while (bound < SECONDS.length && seconds > (SECONDS[bound] ?? 0)) bound++
    this.#counts[bound] = (this.#counts[bound] ?? 0) + 1
    this.sum += seconds
  }

  /** Returns the cumulative number by bound, zeros included. */
  cumulative(): [bound: string, count: number][] {
    let sum = 0
    return Array.from(this.#counts, (count, bound) => {
      sum += count
      return [String(SECONDS[bound] ?? '+Inf'), sum]
    })
  }
}

type EnvelopeLabels = { outcome: Outcome; reason: string; project: string; category: string }

/** Envelopes of one outcome, reason, project and category. Reason and project may be empty. Times are in milliseconds since 1970. */
type EnvelopeCount = Readonly<EnvelopeLabels> & {
  count: number
  bytes: number
  /** Errors from browsers that were delivered or spooled. */
  browserErrors: number
  first: number
  last: number
}

/** Spooled envelopes of one final outcome and project. */
type FinalCount = {
  readonly final_outcome: FinalOutcome
  readonly project: string
  count: number
  first: number
  last: number
}

type ByReason = Map<string, EnvelopeCount>
type ByOutcome = Map<string, ByReason>

type UpstreamSeries = { delivered: number; durations: Durations }

/** Number of envelopes that got an outcome, in a place that outlives the process. */
export type Tally = {
  /** Adds one, unless a lost replica has counted this request before nginx sent it again. */
  note(requestId: string, isRetry: boolean): void
  readonly counted: number
}

const ARRIVED: ReadonlySet<string> = new Set(['delivered', 'spooled'])

/** Names are closed sets: outcomes, codes, configured projects, known item types, categories. */
export class Counters {
  readonly items = new Table(['type', 'outcome'])
  readonly scrubbed = new Table(['rule', 'mode'])
  readonly reach = new Table(['result', 'project'])
  /** Envelopes for mirrors. They have no outcome, and no final outcome, of their own. */
  readonly mirrored = new Table(['result', 'mirror'])
  /** Responses of upstreams, by `2xx` and the like. */
  readonly responses = new Table(['status'])
  readonly durations = new Map<string, Durations>()
  /** By origin. */
  readonly upstreams = new Map<string, UpstreamSeries>()
  readonly envelopes: EnvelopeCount[] = []
  readonly finalOutcomes: FinalCount[] = []
  /** Entries that an operator has sent again, by project. */
  readonly resent = new Table(['project'])
  readonly #tally: Tally
  readonly #now: () => number
  /** Index of `envelopes` by project, category, outcome and reason. */
  readonly #index = new Map<string, Map<string, ByOutcome>>()
  readonly #finals = new Map<string, Map<string, FinalCount>>()
  /** Origin of the upstream, by project. */
  readonly #origins: ReadonlyMap<string, string>

  /** `now` is in milliseconds since 1970. */
  constructor(projects: Projects, tally: Tally, now: () => number) {
    this.#tally = tally
    this.#now = now
    this.#origins = new Map(projects.all.map(({ name, origin }) => [name, origin]))
  }

  /** Counts one envelope, before its response. */
  count(receipt: Receipt, requestId: string): void {
    this.#tally.note(requestId, receipt.flags?.includes('retried') === true)
    const { outcome, reason = '', project = '' } = receipt
    const category = categoryOf(receipt.items)
    const series = this.envelopesOf({ outcome, reason, project, category })
    addOne(series, this.#now())
    series.bytes += receipt.bytes
    if (receipt.origin !== undefined && category === 'error' && ARRIVED.has(outcome)) series.browserErrors++
    for (const { type, count = 1, discard_reason: discardReason } of receipt.items)
      this.items.add(count, type, discardReason ?? outcome)
    getOrCreate(this.durations, outcome, newDurations).add(receipt.duration_ms)
    if (receipt.upstream_status) this.#countResponse(receipt, project, receipt.upstream_status)
  }

  /** Counts the final outcome of one spooled envelope. */
  countFinalOutcome({ final_outcome, project }: Pick<SpoolOutcome, 'final_outcome' | 'project'>): void {
    addOne(this.finalOutcomeOf(final_outcome, project), this.#now())
  }

  /** Counts an entry that is pending again. */
  countResent(project: string): void {
    this.resent.add(1, project)
  }

  /** Counts what a scrubbing rule has found. */
  countScrubbed(rule: string, mode: PolicyMode, count: number): void {
    this.scrubbed.add(count, rule, mode)
  }

  /** Counts the reach test of a browser. */
  countReach(result: ReachResult, project: string): void {
    this.reach.add(1, result, project)
  }

  /** Counts `count` envelopes for a mirror, by its `host/project`; with 0, the series begins. */
  countMirrored(mirror: string, result: MirrorResult, count = 1): void {
    this.mirrored.add(count, result, mirror)
  }

  /** Returns a series, which begins at 0. */
  envelopesOf(labels: EnvelopeLabels): EnvelopeCount {
    const { outcome, reason, project, category } = labels
    const known = this.#index.get(project)?.get(category)?.get(outcome)?.get(reason)
    if (known) return known
    const series = { ...labels, count: 0, bytes: 0, browserErrors: 0, first: 0, last: 0 }
    this.envelopes.push(series)
    const byCategory = getOrCreate(this.#index, project, newMap<ByOutcome>)
    const byOutcome = getOrCreate(byCategory, category, newMap<ByReason>)
    getOrCreate(byOutcome, outcome, newMap<EnvelopeCount>).set(reason, series)
    return series
  }

  finalOutcomeOf(finalOutcome: FinalOutcome, project: string): FinalCount {
    const byOutcome = getOrCreate(this.#finals, project, newMap<FinalCount>)
    const known = byOutcome.get(finalOutcome)
    if (known) return known
    const series = { final_outcome: finalOutcome, project, count: 0, first: 0, last: 0 }
    this.finalOutcomes.push(series)
    byOutcome.set(finalOutcome, series)
    return series
  }

  /** Returns all counts since the start, or those of a project, which has no items, durations, upstreams and mirrors. */
  figures(project?: string): FigureCounts {
    const isIts = (each: { project: string }) => project === undefined || each.project === project
    const figures = noCounts()
    const { outcomes, categories } = figures
    for (const { outcome, reason, category, count, bytes, browserErrors } of this.envelopes.filter(isIts)) {
      const name = reason === '' ? outcome : `${outcome}:${reason}`
      if (count > 0) outcomes[name] = (outcomes[name] ?? 0) + count
      if (count > 0) categories[category] = (categories[category] ?? 0) + count
      figures.received += count
      figures.bytes += bytes
      figures.browser_errors += browserErrors
    }
    for (const { final_outcome: name, count } of this.finalOutcomes.filter(isIts))
      if (count > 0) figures.final_outcomes[name] = (figures.final_outcomes[name] ?? 0) + count
    for (const { labels, count } of this.resent.all()) if (isIts(labels)) figures.resent += count
    for (const { labels, count } of this.reach.all())
      if (isIts(labels)) figures.reach[labels.result] = (figures.reach[labels.result] ?? 0) + count
    if (project !== undefined) return figures
    figures.received = this.#tally.counted
    for (const { labels, count } of this.items.all())
      figures.items[`${labels.type}:${labels.outcome}`] = count
    for (const durations of this.durations.values())
      for (const [bound, count] of durations.cumulative())
        figures.durations[bound] = (figures.durations[bound] ?? 0) + count
    for (const { labels, count } of this.mirrored.all())
      if (count > 0) figures.mirrored[`${labels.result}:${labels.mirror}`] = count
    for (const [origin, { delivered, durations }] of this.upstreams)
      figures.upstreams[origin] = { delivered, durations: Object.fromEntries(durations.cumulative()) }
    return figures
  }

  /** Returns when envelopes were first and last not delivered, by outcome and reason. */
  times(): OutcomeTime[] {
    const times = new Map<string, OutcomeTime>()
    const add = ({ first, last, ...name }: OutcomeTime) => {
      const key = Object.values(name).join(' ')
      const { first: before = first, last: after = last } = times.get(key) ?? {}
      times.set(key, { ...name, first: Math.min(before, first), last: Math.max(after, last) })
    }
    for (const { outcome, reason, count, first, last } of this.envelopes)
      if (count > 0 && !ARRIVED.has(outcome)) add({ stage: 'answered', outcome, reason, first, last })
    for (const { final_outcome: outcome, count, first, last } of this.finalOutcomes)
      if (count > 0 && !ARRIVED.has(outcome)) add({ stage: 'waited', outcome, reason: '', first, last })
    return [...times.values()]
  }

  #countResponse({ outcome, upstream_duration_ms: ms }: Receipt, project: string, status: number): void {
    this.responses.add(1, STATUS_CLASSES[Math.floor(status / 100)] ?? 'other')
    const origin = this.#origins.get(project)
    if (origin === undefined || ms === undefined) return
    const upstream = getOrCreate(this.upstreams, origin, newUpstream)
    if (outcome === 'delivered') upstream.delivered++
    upstream.durations.add(ms)
  }
}

const STATUS_CLASSES = ['0xx', '1xx', '2xx', '3xx', '4xx', '5xx', '6xx', '7xx', '8xx', '9xx']

/** Counts with up to two labels. */
class Table<Label extends string> {
  readonly #labels: readonly [Label, Label?]
  readonly #cells = new Map<string, Map<string, { count: number }>>()

  constructor(labels: readonly [Label, Label?]) {
    this.#labels = labels
  }

  add(count: number, first: string, second = ''): void {
    const cells = getOrCreate(this.#cells, first, newMap<{ count: number }>)
    const cell = cells.get(second)
    if (cell) cell.count += count
    else cells.set(second, { count })
  }

  all(): { labels: Record<Label, string>; count: number }[] {
    const [one, other] = this.#labels
    return Array.from(this.#cells, ([first, cells]) =>
      Array.from(cells, ([second, { count }]) => ({
        labels: { [one]: first, ...(other !== undefined && { [other]: second }) } as Record<Label, string>,
        count,
      })),
    ).flat()
  }
}

function addOne(series: { count: number; first: number; last: number }, now: number): void {
  if (series.count++ === 0) series.first = now
  series.last = now
}

function getOrCreate<Value>(map: Map<string, Value>, key: string, create: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const created = create()
  map.set(key, created)
  return created
}

function newMap<Value>(): Map<string, Value> {
  return new Map()
}

function newDurations(): Durations {
  return new Durations()
}

function newUpstream(): UpstreamSeries {
  return { delivered: 0, durations: new Durations() }
}
