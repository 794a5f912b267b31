/** Prometheus metrics: a view of the counter table, and gauges. */

import { FINAL_OUTCOMES, MIRROR_RESULTS, type ProcessFigures } from 'contract/admin-api'
import type { QuotaStatus, StormStatus } from 'contract/policies'
import type { RejectionCode } from 'contract/rejections'
import { PROBLEM_KINDS } from 'contract/situation/incidents'
import type { SpoolStatus } from 'contract/spool'
import type { LimitInForce, UpstreamErrorClass } from 'contract/upstream'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { ITEM_LABELS } from '../envelope/items.ts'
import { categoryOf } from '../envelope/summary.ts'
import type { Projects } from '../pipeline/projects.ts'
import type { Counters } from './counters.ts'
import { counter, counts, formatMetric, gauge, histogram, type Metric } from './exposition.ts'
import { listSpoolMetrics } from './spool-metrics.ts'

type UpstreamGauges = {
  origin: string
  breaker: { open: boolean }
  errorCounts: ReadonlyMap<UpstreamErrorClass, number>
}

/** Values that are read on each scrape. */
export type MetricsDeps = {
  counters: Counters
  build: { version: string; revision: string }
  inFlight: () => number
  bodyBytes: () => number
  limits: () => LimitInForce[]
  upstreams: () => UpstreamGauges[]
  spool: () => Promise<SpoolStatus>
  quotas: () => QuotaStatus[]
  storms: () => StormStatus[]
  /** Kinds of the problems of the site. */
  problems: () => ReadonlySet<string>
  projects: Projects
  /** Milliseconds since 1970. */
  now: () => number
}

// Gauges of prom-client whose names are those of counters. The series without `_total` sum up to them.
const MISNAMED = ['active_resources_total', 'active_handles_total', 'active_requests_total']
/** Reasons that `deploy/prometheus/rules.yml` counts as loss. */
const LOSS_REASONS: readonly RejectionCode[] = [
  'spool-full',
  'spool-share',
  'spool-unwritable',
  'tunnel-failed',
]
const CATEGORIES = new Set(Array.from(ITEM_LABELS, (type) => categoryOf([{ type, bytes: 0 }])))

export class Metrics {
  /** Metrics of the process, by `prom-client`. */
  readonly #process = new Registry()
  readonly #metrics: readonly Metric[]
  readonly #readSpool: () => Promise<SpoolStatus>

  constructor(deps: MetricsDeps) {
    collectDefaultMetrics({ register: this.#process, prefix: 'culvert_' })
    for (const name of MISNAMED) this.#process.removeSingleMetric(`culvert_nodejs_${name}`)
    initialise(deps)
    this.#readSpool = deps.spool
    this.#metrics = listMetrics(deps)
  }

  /** Returns all metrics in the text format of Prometheus. */
  async expose(): Promise<string> {
    const [ofProcess, spool] = await Promise.all([this.#process.metrics(), this.#readSpool()])
    return `${ofProcess}\n${this.#metrics.map((metric) => formatMetric(metric, spool)).join('\n')}`
  }

  /** Returns the load of the process. */
  async load(): Promise<ProcessFigures> {
    await this.#process.getSingleMetric('culvert_nodejs_eventloop_lag_seconds')?.get() // sets the percentiles, too
    const p99 = await this.#process.getSingleMetric('culvert_nodejs_eventloop_lag_p99_seconds')?.get()
    const { user, system } = process.cpuUsage()
    return {
      resident_bytes: process.memoryUsage.rss(),
      cpu_seconds: (user + system) / 1_000_000,
      event_loop_p99_seconds: p99?.values[0]?.value ?? 0,
    }
  }
}

/** Creates the series of losses with the value 0. Otherwise Prometheus would not see the first loss as an increase. */
function initialise({ counters, projects }: MetricsDeps): void {
  for (const project of new Set(projects.all.map(({ name }) => name))) {
    for (const reason of LOSS_REASONS)
      for (const category of CATEGORIES) counters.envelopes.at('rejected', reason, project, category)
    for (const finalOutcome of FINAL_OUTCOMES) counters.finalOutcomes.at(finalOutcome, project)
  }
  for (const { target } of projects.mirrors)
    for (const result of MIRROR_RESULTS) counters.mirrored.at(result, target.name)
  counters.envelopes.at('rejected', 'tunnel-failed', '', categoryOf([]))
}

/** Declares the metrics of Culvert. Reads no values. */
export function listMetrics(deps: MetricsDeps): Metric[] {
  return [listCounters, listOtherCounters, listGauges, listQuotaGauges, listSpoolMetrics].flatMap((list) =>
    list(deps),
  )
}

function listCounters({ counters }: MetricsDeps): Metric[] {
  return [
    counts('culvert_envelopes_total', 'Envelopes by outcome.', counters.envelopes),
    counts(
      'culvert_items_total',
      'Items by type. `outcome` is the outcome of the envelope, or the reason if the item was removed from it.',
      counters.items,
    ),
    counter(
      'culvert_envelope_bytes_total',
      ['outcome', 'project', 'category'],
      'Body bytes of envelopes as received.',
      () =>
        counters.envelopes.all
          .filter(({ count }) => count > 0)
          .map(({ labels: { outcome, project, category }, bytes }) => ({
            labels: { outcome, project, category },
            value: bytes,
          })),
    ),
    counts('culvert_upstream_responses_total', 'Responses of Sentry by status class.', counters.responses),
    counts(
      'culvert_spool_final_outcomes_total',
      'Spooled envelopes, and those that were sent again, by final outcome.',
      counters.finalOutcomes,
    ),
    counts(
      'culvert_mirror_envelopes_total',
      'Envelopes for mirrors by result. `lost`: the spool could not take them.',
      counters.mirrored,
    ),
    counts(
      'culvert_store_resent_total',
      'Dead letters and kept envelopes that an operator has sent again. Each gets a final outcome.',
      counters.resent,
    ),
    histogram(
      'culvert_request_duration_seconds',
      'Seconds from the first byte of an envelope to its response.',
      counters.durations,
    ),
    histogram(
      'culvert_upstream_request_duration_seconds',
      'Seconds until an upstream responded. Requests without a response are not counted.',
      counters.upstreams,
    ),
  ]
}

function listOtherCounters({ counters, upstreams }: MetricsDeps): Metric[] {
  return [
    counts(
      'culvert_scrubbed_values_total',
      'Values that a scrubbing rule redacted, or with `observe` in `SCRUB` would redact, and items removed as a whole.',
      counters.scrubbed,
    ),
    counts('culvert_reach_tests_total', 'Reach tests of browsers, with `REACH_SAMPLE_RATE`.', counters.reach),
    counter('culvert_sdk_loads_total', [], 'Requests of pages for sdk.js.', () => [
      { value: counters.sdkLoads },
    ]),
    counter(
      'culvert_browser_errors_total',
      ['project'],
      'Errors from browsers that Sentry or the spool accepted.',
      () =>
        counters.envelopes.all
          .filter(({ browserErrors }) => browserErrors > 0)
          .map(({ labels: { project }, browserErrors }) => ({ labels: { project }, value: browserErrors })),
    ),
    counter(
      'culvert_upstream_errors_total',
      ['upstream', 'class'],
      'Failed delivery attempts by class of error, retries included.',
      () =>
        upstreams().flatMap(({ origin, errorCounts }) =>
          Array.from(errorCounts, ([name, value]) => ({ labels: { upstream: origin, class: name }, value })),
        ),
    ),
    counts(
      'culvert_policy_items_total',
      'Items that storm protection or a quota removed, or would remove in the mode `observe`.',
      counters.policyItems,
    ),
  ]
}

function listGauges({ build, inFlight, bodyBytes, limits, upstreams, problems }: MetricsDeps): Metric[] {
  return [
    gauge('culvert_build_info', ['version', 'revision'], 'Version and revision of the tunnel.', () => [
      { labels: build, value: 1 },
    ]),
    gauge(
      'culvert_envelopes_in_flight',
      [],
      'Envelopes in progress: received, without a response yet.',
      () => [{ value: inFlight() }],
    ),
    gauge('culvert_body_memory_bytes', [], 'Bytes of bodies held in memory.', () => [{ value: bodyBytes() }]),
    gauge(
      'culvert_upstream_rate_limits',
      ['project', 'category'],
      '1 while a rate limit of Sentry applies.',
      () =>
        limits()
          .filter(({ standing }) => !standing)
          .map(({ project, category }) => ({ labels: { project, category }, value: 1 })),
    ),
    gauge(
      'culvert_upstream_breaker_open',
      ['upstream'],
      '1 while the circuit breaker of an upstream is open.',
      () =>
        upstreams().map(({ origin, breaker }) => ({
          labels: { upstream: origin },
          value: Number(breaker.open),
        })),
    ),
    gauge(
      'culvert_problem',
      ['kind'],
      '1 while all replicas together have this problem, as the banner of the console shows it.',
      () => PROBLEM_KINDS.map((kind) => ({ labels: { kind }, value: Number(problems().has(kind)) })),
    ),
  ]
}

function listQuotaGauges({ quotas, storms }: MetricsDeps): Metric[] {
  return [
    ofQuotas('limit', 'Quota of a day or an hour.', quotas, ({ limit }) => limit),
    ofQuotas('used', 'Use of a quota by all replicas in the current period.', quotas, ({ used }) => used),
    gauge('culvert_storms', ['project'], 'Kinds of errors that are above `STORM_LIMIT` now.', () =>
      storms().map(({ project }) => ({ labels: { project }, value: 1 })),
    ),
  ]
}

/** Replicas report the same use of quotas: take the maximum. */
function ofQuotas(
  name: string,
  help: string,
  quotas: MetricsDeps['quotas'],
  read: (quota: QuotaStatus) => number,
): Metric {
  return gauge(`culvert_quota_${name}`, ['project', 'category', 'period'], help, () =>
    quotas().map((quota) => {
      const { project, category, period } = quota
      return { labels: { project, category, period }, value: read(quota) }
    }),
  )
}
