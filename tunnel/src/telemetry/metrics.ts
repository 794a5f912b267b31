/** Prometheus metrics. Everything about envelopes is counted from their receipts. */

import {
  FINAL_OUTCOMES,
  type LimitInForce,
  type Outcome,
  type ReachResult,
  type Receipt,
  type ReplicaFigures,
  type SpoolOutcome,
} from 'contract/admin-api'
import type { SimulatedOutageStatus } from 'contract/inbox'
import type { PolicyMode } from 'contract/policies'
import type { RejectionCode } from 'contract/rejections'
import type { SpoolStatus } from 'contract/spool'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { ITEM_LABELS } from '../envelope/items.ts'
import { categoryOf } from '../envelope/summary.ts'
import type { Projects } from '../projects.ts'
import type { UpstreamState } from '../upstream/client.ts'
import { readFigures } from './figures.ts'
import { type PolicyGauges, PolicyMetrics } from './policies/policy-metrics.ts'
import { SpoolMetrics } from './spool-metrics.ts'

/** Values that are read on each scrape. */
type Gauges = {
  build: { version: string; revision: string }
  inFlight: () => number
  bodyBytes: () => number
  limits: () => LimitInForce[]
  upstreams: () => UpstreamState[]
  /** Absent in inbox mode. */
  spool: (() => Promise<SpoolStatus>) | undefined
  /** Absent with a Sentry. */
  outage?: (() => Promise<Pick<SimulatedOutageStatus, 'pending'>>) | undefined
  policies: PolicyGauges
  projects: Projects
  /** Milliseconds since 1970. */
  now: () => number
}

// Gauges of prom-client whose names are those of counters. The series without `_total` sum up to them.
const MISNAMED = ['active_resources_total', 'active_handles_total', 'active_requests_total']
/** Reasons that `deploy/prometheus/rules.yml` counts as loss. */
const LOSS_REASONS: readonly RejectionCode[] = [
  'spool-full',
  'spool-unwritable',
  'inbox-full',
  'tunnel-failed',
]
const ARRIVED: ReadonlySet<Outcome> = new Set(['delivered', 'spooled'])
const CATEGORIES = new Set(Array.from(ITEM_LABELS, (type) => categoryOf([{ type, bytes: 0 }])))
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Label values are closed sets: outcomes, codes, configured projects, known item types, categories, status classes. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #envelopes = this.#counter('culvert_envelopes_total', 'Envelopes by outcome.', [
    ...(['outcome', 'reason', 'project', 'category'] as const),
  ])
  readonly #items = this.#counter(
    'culvert_items_total',
    'Items by type. `outcome` is the outcome of the envelope, or the reason if the item was removed from it.',
    ['type', 'outcome'],
  )
  readonly #bytes = this.#counter('culvert_envelope_bytes_total', 'Body bytes of envelopes as received.', [
    ...(['outcome', 'project', 'category'] as const),
  ])
  readonly #upstreamResponses = this.#counter(
    'culvert_upstream_responses_total',
    'Responses of Sentry by status class.',
    ['status'],
  )
  readonly #duration = this.#histogram(
    'culvert_request_duration_seconds',
    'Seconds from the first byte of an envelope to its response.',
    'outcome',
  )
  readonly #upstreamDuration = this.#histogram(
    'culvert_upstream_request_duration_seconds',
    'Seconds until an upstream responded. Requests without a response are not counted.',
    'upstream',
  )
  readonly #finalOutcomes = this.#counter(
    'culvert_spool_final_outcomes_total',
    'Spooled envelopes by final outcome.',
    ['final_outcome', 'project'],
  )
  readonly #scrubbed = this.#counter(
    'culvert_scrubbed_values_total',
    'Values that a scrubbing rule redacted, or would redact with `SCRUB_MODE=enforce`, and items removed as a whole.',
    ['rule', 'mode'],
  )
  readonly #reachTests = this.#counter(
    'culvert_reach_tests_total',
    'Reach tests of browsers, with `REACH_SAMPLE_RATE`.',
    ['result', 'project'],
  )
  readonly #browserErrors = this.#counter(
    'culvert_browser_errors_total',
    'Errors from browsers that Sentry or the spool accepted.',
    ['project'],
  )
  readonly policies: PolicyMetrics
  readonly #spool: SpoolMetrics | undefined
  /** Origin of the upstream, by project. */
  readonly #origins: ReadonlyMap<string, string>

  constructor(gauges: Gauges) {
    const { projects, now, inFlight, bodyBytes, build } = gauges
    collectDefaultMetrics({ register: this.#registry, prefix: 'culvert_' })
    for (const name of MISNAMED) this.#registry.removeSingleMetric(`culvert_nodejs_${name}`)
    this.#origins = new Map(projects.all.map(({ name, origin }) => [name, origin]))
    this.#initialise(gauges)
    this.#gauge(
      'culvert_build_info',
      'Version and revision of the tunnel.',
      ['version', 'revision'],
      (gauge) => gauge.set(build, 1),
    )
    this.#gauge(
      'culvert_envelopes_in_flight',
      'Envelopes in progress: received, without a response yet.',
      [],
      (gauge) => gauge.set(inFlight()),
    )
    this.#gauge('culvert_body_memory_bytes', 'Bytes of bodies held in memory.', [], (gauge) =>
      gauge.set(bodyBytes()),
    )
    this.#gauge(
      'culvert_upstream_rate_limits',
      '1 while a rate limit of Sentry applies.',
      ['project', 'category'],
      (gauge) => {
        gauge.reset()
        for (const { project, category, standing } of gauges.limits())
          if (!standing) gauge.set({ project, category }, 1)
      },
    )
    this.#gauge(
      'culvert_upstream_breaker_open',
      '1 while the circuit breaker of an upstream is open.',
      ['upstream'],
      (gauge) => {
        for (const { origin, breaker } of gauges.upstreams())
          gauge.set({ upstream: origin }, Number(breaker.open))
      },
    )
    this.#addUpstreamErrors(gauges.upstreams)
    if (gauges.outage) this.#addOutage(gauges.outage)
    this.policies = new PolicyMetrics(this.#registry, gauges.policies)
    this.#spool = gauges.spool && new SpoolMetrics(this.#registry, gauges.spool, projects, now)
  }

  /** Counts one envelope. `Receipts` calls it. */
  count(receipt: Receipt): void {
    const { outcome, reason = '', project = '', upstream_status: status } = receipt
    const category = categoryOf(receipt.items)
    this.#envelopes.inc({ outcome, reason, project, category })
    for (const { type, count = 1, discard_reason: discardReason } of receipt.items)
      this.#items.inc({ type, outcome: discardReason ?? outcome }, count)
    this.#bytes.inc({ outcome, project, category }, receipt.bytes)
    if (receipt.origin !== undefined && category === 'error' && ARRIVED.has(outcome))
      this.#browserErrors.inc({ project })
    this.#duration.observe({ outcome }, receipt.duration_ms / 1000)
    if (!status) return
    this.#upstreamResponses.inc({ status: `${Math.floor(status / 100)}xx` })
    const upstream = this.#origins.get(project)
    if (upstream && receipt.upstream_duration_ms !== undefined)
      this.#upstreamDuration.observe({ upstream }, receipt.upstream_duration_ms / 1000)
  }

  /** Counts the final outcome of one spooled envelope. `Receipts` calls it. */
  countFinalOutcome({ final_outcome, project }: SpoolOutcome): void {
    this.#finalOutcomes.inc({ final_outcome, project })
  }

  /** Counts what a scrubbing rule has found. */
  countScrubbed(rule: string, mode: PolicyMode, count: number): void {
    this.#scrubbed.inc({ rule, mode }, count)
  }

  /** Counts the reach test of a browser. */
  countReach(result: ReachResult, project: string): void {
    this.#reachTests.inc({ result, project })
  }

  /** Returns all metrics in the text format of Prometheus. */
  expose(): Promise<string> {
    this.#spool?.refresh()
    return this.#registry.metrics()
  }

  /** Returns the counters that the console shows. */
  figures(): Promise<ReplicaFigures> {
    return readFigures(this.#registry)
  }

  #addUpstreamErrors(upstreams: Gauges['upstreams']): void {
    new Counter({
      name: 'culvert_upstream_errors_total',
      help: 'Failed delivery attempts by class of error, retries included.',
      labelNames: ['upstream', 'class'] as const,
      registers: [this.#registry],
      collect() {
        this.reset()
        for (const { origin, errorCounts } of upstreams())
          for (const [each, count] of errorCounts) this.inc({ upstream: origin, class: each }, count)
      },
    })
  }

  #addOutage(read: NonNullable<Gauges['outage']>): void {
    new Gauge({
      name: 'culvert_simulated_outage_pending_envelopes',
      help: 'Envelopes that wait for the end of a simulated outage; only in inbox mode.',
      registers: [this.#registry],
      async collect() {
        const status = await read().catch(() => undefined)
        if (status) this.set(status.pending)
        else this.remove()
      },
    })
  }

  /** Creates the series of losses at 0: the first loss would not be an increase otherwise. */
  #initialise({ projects, spool }: Gauges): void {
    for (const project of new Set(projects.all.map(({ name }) => name))) {
      for (const reason of LOSS_REASONS)
        for (const category of CATEGORIES)
          this.#envelopes.inc({ outcome: 'rejected', reason, project, category }, 0)
      if (spool)
        for (const final_outcome of FINAL_OUTCOMES) this.#finalOutcomes.inc({ final_outcome, project }, 0)
    }
    const unread = { project: '', category: categoryOf([]) }
    this.#envelopes.inc({ outcome: 'rejected', reason: 'tunnel-failed', ...unread }, 0)
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] })
  }

  #histogram<Label extends string>(name: string, help: string, label: Label): Histogram<Label> {
    const registers = [this.#registry]
    return new Histogram({ name, help, labelNames: [label], buckets: SECONDS, registers })
  }

  #gauge<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    read: (gauge: Gauge<Label>) => void,
  ): void {
    new Gauge({
      ...{ name, help, labelNames, registers: [this.#registry] },
      collect() {
        read(this)
      },
    })
  }
}
