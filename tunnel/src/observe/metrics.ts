/** Prometheus metrics: a view of the counter table, and gauges. */

import { FINAL_OUTCOMES, type LimitInForce, MIRROR_RESULTS, type ProcessFigures } from 'contract/admin-api'
import type { RejectionCode } from 'contract/rejections'
import type { SpoolStatus } from 'contract/spool'
import type { UpstreamErrorClass } from 'contract/upstream'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { ITEM_LABELS } from '../envelope/items.ts'
import { categoryOf } from '../envelope/summary.ts'
import type { Projects } from '../pipeline/projects.ts'
import type { Counters, Durations } from './counters.ts'
import { type PolicyGauges, PolicyMetrics } from './policy-metrics.ts'
import { SpoolMetrics } from './spool-metrics.ts'

type UpstreamGauges = {
  origin: string
  breaker: { open: boolean }
  errorCounts: ReadonlyMap<UpstreamErrorClass, number>
}

/** Values that are read on each scrape. */
type Gauges = {
  counters: Counters
  build: { version: string; revision: string }
  inFlight: () => number
  bodyBytes: () => number
  limits: () => LimitInForce[]
  upstreams: () => UpstreamGauges[]
  spool: () => Promise<SpoolStatus>
  policies: PolicyGauges
  projects: Projects
  /** Milliseconds since 1970. */
  now: () => number
}

// Gauges of prom-client whose names are those of counters. The series without `_total` sum up to them.
const MISNAMED = ['active_resources_total', 'active_handles_total', 'active_requests_total']
/** Reasons that `deploy/prometheus/rules.yml` counts as loss. */
const LOSS_REASONS: readonly RejectionCode[] = ['spool-full', 'spool-unwritable', 'tunnel-failed']
const CATEGORIES = new Set(Array.from(ITEM_LABELS, (type) => categoryOf([{ type, bytes: 0 }])))

type Series = { labels: Record<string, string>; count: number }

/** Label values are closed sets: outcomes, codes, configured projects, known item types, categories, status classes. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #counters: Counters
  readonly policies: PolicyMetrics
  readonly #spool: SpoolMetrics

  constructor(gauges: Gauges) {
    const { counters, projects, now, inFlight, bodyBytes, build } = gauges
    collectDefaultMetrics({ register: this.#registry, prefix: 'culvert_' })
    for (const name of MISNAMED) this.#registry.removeSingleMetric(`culvert_nodejs_${name}`)
    this.#counters = counters
    initialise(gauges)
    this.#addEnvelopes(counters)
    this.#addOthers(counters)
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
    this.policies = new PolicyMetrics(this.#registry, gauges.policies)
    this.#spool = new SpoolMetrics(this.#registry, gauges.spool, projects, now)
  }

  /** Returns all metrics in the text format of Prometheus. */
  async expose(): Promise<string> {
    this.#spool.refresh()
    return `${await this.#registry.metrics()}\n${describeDurations(this.#counters)}`
  }

  /** Returns the load of the process. */
  async load(): Promise<ProcessFigures> {
    await this.#registry.getSingleMetric('culvert_nodejs_eventloop_lag_seconds')?.get() // sets the percentiles, too
    const p99 = await this.#registry.getSingleMetric('culvert_nodejs_eventloop_lag_p99_seconds')?.get()
    const { user, system } = process.cpuUsage()
    return {
      resident_bytes: process.memoryUsage.rss(),
      cpu_seconds: (user + system) / 1_000_000,
      event_loop_p99_seconds: p99?.values[0]?.value ?? 0,
    }
  }

  #addEnvelopes(counters: Counters): void {
    this.#counter(
      'culvert_envelopes_total',
      'Envelopes by outcome.',
      ['outcome', 'reason', 'project', 'category'],
      () =>
        counters.envelopes.map(({ outcome, reason, project, category, count }) => ({
          labels: { outcome, reason, project, category },
          count,
        })),
    )
    this.#counter(
      'culvert_items_total',
      'Items by type. `outcome` is the outcome of the envelope, or the reason if the item was removed from it.',
      ['type', 'outcome'],
      () => counters.items.all(),
    )
    this.#counter(
      'culvert_envelope_bytes_total',
      'Body bytes of envelopes as received.',
      ['outcome', 'project', 'category'],
      () =>
        counters.envelopes
          .filter(({ count }) => count > 0)
          .map(({ outcome, project, category, bytes }) => ({
            labels: { outcome, project, category },
            count: bytes,
          })),
    )
  }

  #addOthers(counters: Counters): void {
    this.#counter(
      'culvert_upstream_responses_total',
      'Responses of Sentry by status class.',
      ['status'],
      () => counters.responses.all(),
    )
    this.#counter(
      'culvert_spool_final_outcomes_total',
      'Spooled envelopes, and those that were sent again, by final outcome.',
      ['final_outcome', 'project'],
      () =>
        counters.finalOutcomes.map(({ final_outcome, project, count }) => ({
          labels: { final_outcome, project },
          count,
        })),
    )
    this.#counter(
      'culvert_mirror_envelopes_total',
      'Envelopes for mirrors by result. `lost`: the spool could not take them.',
      ['result', 'mirror'],
      () => counters.mirrored.all(),
    )
    this.#counter(
      'culvert_store_resent_total',
      'Dead letters and kept envelopes that an operator has sent again. Each gets a final outcome.',
      ['project'],
      () => counters.resent.all(),
    )
    this.#counter(
      'culvert_scrubbed_values_total',
      'Values that a scrubbing rule redacted, or with `observe` in `SCRUB` would redact, and items removed as a whole.',
      ['rule', 'mode'],
      () => counters.scrubbed.all(),
    )
    this.#counter(
      'culvert_reach_tests_total',
      'Reach tests of browsers, with `REACH_SAMPLE_RATE`.',
      ['result', 'project'],
      () => counters.reach.all(),
    )
    this.#counter(
      'culvert_browser_errors_total',
      'Errors from browsers that Sentry or the spool accepted.',
      ['project'],
      () =>
        counters.envelopes
          .filter(({ browserErrors }) => browserErrors > 0)
          .map(({ project, browserErrors }) => ({ labels: { project }, count: browserErrors })),
    )
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

  #counter(name: string, help: string, labelNames: string[], read: () => readonly Series[]): void {
    new Counter({
      ...{ name, help, labelNames, registers: [this.#registry] },
      collect() {
        this.reset()
        for (const { labels, count } of read()) this.inc(labels, count)
      },
    })
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

/** Creates the series of losses at 0: the first loss would not be an increase otherwise. */
function initialise({ counters, projects }: Gauges): void {
  for (const project of new Set(projects.all.map(({ name }) => name))) {
    for (const reason of LOSS_REASONS)
      for (const category of CATEGORIES)
        counters.envelopesOf({ outcome: 'rejected', reason, project, category })
    for (const finalOutcome of FINAL_OUTCOMES) counters.finalOutcomeOf(finalOutcome, project)
  }
  for (const { target } of projects.mirrors)
    for (const result of MIRROR_RESULTS) counters.countMirrored(target.name, result, 0)
  const unread = { project: '', category: categoryOf([]) }
  counters.envelopesOf({ outcome: 'rejected', reason: 'tunnel-failed', ...unread })
}

/** Writes the histograms in the text format of Prometheus: prom-client has none that copies its buckets. */
function describeDurations({ durations, upstreams }: Counters): string {
  const ofUpstreams = Array.from(upstreams, ([origin, each]) => [origin, each.durations] as const)
  return [
    describeHistogram(
      'culvert_request_duration_seconds',
      'Seconds from the first byte of an envelope to its response.',
      'outcome',
      [...durations],
    ),
    describeHistogram(
      'culvert_upstream_request_duration_seconds',
      'Seconds until an upstream responded. Requests without a response are not counted.',
      'upstream',
      ofUpstreams,
    ),
  ].join('\n')
}

function describeHistogram(
  name: string,
  help: string,
  label: string,
  series: readonly (readonly [value: string, durations: Durations])[],
): string {
  const lines = series.flatMap(([value, durations]) => {
    const buckets = durations.cumulative()
    const labels = `${label}="${value}"`
    return [
      ...buckets.map(([bound, count]) => `${name}_bucket{le="${bound}",${labels}} ${count}`),
      `${name}_sum{${labels}} ${durations.sum}`,
      `${name}_count{${labels}} ${buckets.at(-1)?.[1]}`,
    ]
  })
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines, ''].join('\n')
}
