/** Counter table: all counts about envelopes. Metrics, history and rejections are views of it. */

import type {
  FinalOutcome,
  MirrorResult,
  Outcome,
  OutcomeTime,
  ReachResult,
  Receipt,
  SpoolOutcome,
} from 'contract/admin-api'
import { type FigureCounts, noCounts } from 'contract/figures'
import type { PolicyMode, PolicyName } from 'contract/policies'
import { categoryOf } from '../envelope/summary.ts'
import type { Projects } from '../pipeline/projects.ts'

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

/** Counts of one combination of label values. */
type Series<Labels, Count> = { readonly labels: Readonly<Labels> } & Count

/** Node of the tree that finds a series: one level for each label. */
type Node<Leaf> = { children: Map<string, Node<Leaf>> | undefined; leaf: Leaf | undefined }

/** Series by their label values, which are closed sets. */
export class Table<Labels extends Record<string, string>, Count extends object> {
  /** All series, in the order in which they began. */
  readonly all: Series<Labels, Count>[] = []
  readonly labels: readonly (keyof Labels & string)[]
  readonly #create: () => Count
  readonly #root: Node<Series<Labels, Count>> = { children: undefined, leaf: undefined }

  /** `create` returns the first value of a series. */
  constructor(labels: readonly (keyof Labels & string)[], create: () => Count) {
    this.labels = labels
    this.#create = create
  }

  /** Returns the series with a value for each label. It begins with the first call. */
  at(...values: string[]): Series<Labels, Count> {
    let node = this.#root
    for (const value of values) {
      node.children ??= new Map() // the nodes of series have none: with 1,000 projects they are 45,000
      let next = node.children.get(value)
      if (next === undefined) {
        next = { children: undefined, leaf: undefined }
        node.children.set(value, next)
      }
      node = next
    }
    node.leaf ??= this.#begin(values)
    return node.leaf
  }

  #begin(values: readonly string[]): Series<Labels, Count> {
    const labels = Object.fromEntries(this.labels.map((label, index) => [label, values[index]])) as Labels
    const series = { labels, ...this.#create() }
    this.all.push(series)
    return series
  }
}

/** Reason and project may be empty. */
type EnvelopeLabels = { outcome: Outcome; reason: string; project: string; category: string }
/** Times are in milliseconds since 1970. */
type TimedCount = { count: number; first: number; last: number }
/** `browserEnvelopes` are those from browsers, of which `browserErrors` are the errors that were delivered or spooled. */
type EnvelopeCount = TimedCount & { bytes: number; browserEnvelopes: number; browserErrors: number }
type Count = { count: number }

const newCount = () => ({ count: 0 })
const newTimedCount = () => ({ count: 0, first: 0, last: 0 })
const newEnvelopeCount = () => ({ ...newTimedCount(), bytes: 0, browserEnvelopes: 0, browserErrors: 0 })
const newDurations = () => ({ durations: new Durations() })
const newUpstream = () => ({ delivered: 0, durations: new Durations() })

const STORM_RULE = 'identical errors'
const ARRIVED: ReadonlySet<string> = new Set(['delivered', 'spooled'])
/** Outcomes of envelopes that strangers and broken pages send as well. */
const NOT_ACCEPTED: ReadonlySet<string> = new Set(['rejected', 'aborted'])
const STATUS_CLASSES = ['0xx', '1xx', '2xx', '3xx', '4xx', '5xx', '6xx', '7xx', '8xx', '9xx']

export class Counters {
  /** Number of changes. */
  revision = 0
  readonly envelopes = new Table<EnvelopeLabels, EnvelopeCount>(
    ['outcome', 'reason', 'project', 'category'],
    newEnvelopeCount,
  )
  /** Final outcomes of spooled envelopes. */
  readonly finalOutcomes = new Table<{ final_outcome: FinalOutcome; project: string }, TimedCount>(
    ['final_outcome', 'project'],
    newTimedCount,
  )
  /** Entries that an operator has sent again. */
  readonly resent = new Table<{ project: string }, Count>(['project'], newCount)
  /** Envelopes for mirrors. They have no outcome, and no final outcome, of their own. */
  readonly mirrored = new Table<{ result: MirrorResult; mirror: string }, Count>(
    ['result', 'mirror'],
    newCount,
  )
  readonly items = new Table<{ type: string; outcome: string }, Count>(['type', 'outcome'], newCount)
  readonly durations = new Table<{ outcome: Outcome }, { durations: Durations }>(['outcome'], newDurations)
  /** By origin. */
  readonly upstreams = new Table<{ upstream: string }, { delivered: number; durations: Durations }>(
    ['upstream'],
    newUpstream,
  )
  /** Responses of upstreams, by `2xx` and the like. */
  readonly responses = new Table<{ status: string }, Count>(['status'], newCount)
  readonly scrubbed = new Table<{ rule: string; mode: PolicyMode }, Count>(['rule', 'mode'], newCount)
  readonly policyItems = new Table<{ policy: string; mode: PolicyMode; project: string }, Count>(
    ['policy', 'mode', 'project'],
    newCount,
  )
  /** Values and items by rule of a policy, whatever its mode. */
  readonly rules = new Table<{ policy: PolicyName; rule: string }, Count>(['policy', 'rule'], newCount)
  /** Requests of pages for `sdk.js`. */
  sdkLoads = 0
  readonly reach = new Table<{ result: ReachResult; project: string }, Count>(['result', 'project'], newCount)
  readonly #now: () => number
  /** Origin of the upstream, by project. */
  readonly #origins: ReadonlyMap<string, string>

  /** `now` is in milliseconds since 1970. */
  constructor(projects: Projects, now: () => number) {
    this.#now = now
    this.#origins = new Map(projects.all.map(({ name, origin }) => [name, origin]))
  }

  /** Counts one envelope, before its response. */
  count(receipt: Receipt): void {
    this.revision++
    const { outcome, reason = '', project = '' } = receipt
    const category = categoryOf(receipt.items)
    const series = this.envelopes.at(outcome, reason, project, category)
    this.#addOne(series)
    series.bytes += receipt.bytes
    if (receipt.origin !== undefined) {
      series.browserEnvelopes++
      if (category === 'error' && ARRIVED.has(outcome)) series.browserErrors++
    }
    for (const { type, count = 1, discard_reason: discardReason } of receipt.items)
      this.items.at(type, discardReason ?? outcome).count += count
    this.durations.at(outcome).durations.add(receipt.duration_ms)
    if (receipt.upstream_status) this.#countResponse(receipt, project, receipt.upstream_status)
  }

  /** Counts the final outcome of one spooled envelope. */
  countFinalOutcome({ final_outcome, project }: Pick<SpoolOutcome, 'final_outcome' | 'project'>): void {
    this.revision++
    this.#addOne(this.finalOutcomes.at(final_outcome, project))
  }

  /** Counts an entry that is pending again. */
  countResent(project: string): void {
    this.revision++
    this.resent.at(project).count++
  }

  /** Counts the reach test of a browser. */
  countReach(result: ReachResult, project: string): void {
    this.revision++
    this.reach.at(result, project).count++
  }

  countSdkLoad(): void {
    this.revision++
    this.sdkLoads++
  }

  /** Counts an envelope for a mirror, by its `host/project`. */
  countMirrored(mirror: string, result: MirrorResult): void {
    this.revision++
    this.mirrored.at(result, mirror).count++
  }

  /** Counts the values that a scrubbing rule has found. */
  countScrubbed(rule: string, mode: PolicyMode, count: number): void {
    this.revision++
    this.scrubbed.at(rule, mode).count += count
    this.rules.at('scrub', rule).count += count
  }

  /** Counts errors that storm protection removes, or would. */
  countStorm(mode: PolicyMode, project: string, count: number): void {
    this.revision++
    this.policyItems.at('storm', mode, project).count += count
    this.rules.at('storm', STORM_RULE).count += count
  }

  /** Counts an item that the quota of a category removes, or would. The category is absent for one that only depends on others. */
  countQuota(mode: PolicyMode, project: string, category: string | undefined): void {
    this.revision++
    this.policyItems.at('quota', mode, project).count++
    if (category !== undefined) this.rules.at('quota', category).count++
  }

  /** Returns all counts since the start. */
  figures(): FigureCounts {
    const figures = noCounts()
    for (const { labels, count, bytes, browserEnvelopes, browserErrors } of this.envelopes.all) {
      const { outcome, reason } = labels
      figures.received += count
      figures.bytes += bytes
      if (!NOT_ACCEPTED.has(outcome)) figures.browser_envelopes += browserEnvelopes
      figures.browser_errors += browserErrors
      addTo(figures.outcomes, reason === '' ? outcome : `${outcome}:${reason}`, count)
    }
    for (const { labels, count } of this.finalOutcomes.all)
      addTo(figures.final_outcomes, labels.final_outcome, count)
    for (const { count } of this.resent.all) figures.resent += count
    figures.sdk_loads = this.sdkLoads
    for (const { labels, count } of this.reach.all) addTo(figures.reach, labels.result, count)
    for (const { labels, count } of this.items.all)
      addTo(figures.items, `${labels.type}:${labels.outcome}`, count)
    for (const { labels, count } of this.mirrored.all)
      addTo(figures.mirrored, `${labels.result}:${labels.mirror}`, count)
    for (const { labels, count } of this.rules.all)
      addTo(figures.rules, `${labels.policy}:${labels.rule}`, count)
    for (const { durations } of this.durations.all)
      for (const [bound, count] of durations.cumulative()) addTo(figures.durations, bound, count)
    for (const { labels, delivered, durations } of this.upstreams.all)
      figures.upstreams[labels.upstream] = {
        delivered,
        durations: Object.fromEntries(durations.cumulative()),
      }
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
    for (const { labels, count, first, last } of this.envelopes.all)
      if (count > 0 && !ARRIVED.has(labels.outcome))
        add({ stage: 'answered', outcome: labels.outcome, reason: labels.reason, first, last })
    for (const { labels, count, first, last } of this.finalOutcomes.all)
      if (count > 0 && !ARRIVED.has(labels.final_outcome))
        add({ stage: 'waited', outcome: labels.final_outcome, reason: '', first, last })
    return [...times.values()]
  }

  #addOne(series: TimedCount): void {
    const now = this.#now()
    if (series.count++ === 0) series.first = now
    series.last = now
  }

  #countResponse({ outcome, upstream_duration_ms: ms }: Receipt, project: string, status: number): void {
    this.responses.at(STATUS_CLASSES[Math.floor(status / 100)] ?? 'other').count++
    const origin = this.#origins.get(project)
    if (origin === undefined || ms === undefined) return
    const upstream = this.upstreams.at(origin)
    if (outcome === 'delivered') upstream.delivered++
    upstream.durations.add(ms)
  }
}

function addTo(counts: Record<string, number>, name: string, count: number): void {
  if (count > 0) counts[name] = (counts[name] ?? 0) + count
}
