/** What Prometheus is told. Everything about envelopes is counted from their receipts, nowhere else. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { LimitInForce, Receipt, SpoolOutcome, SpoolStatus } from '../contract.ts'
import { categoryOf } from '../envelope/summary.ts'
import type { Projects } from '../projects.ts'
import type { UpstreamState } from '../upstream/client.ts'
import { createSpoolMetrics } from './spool-metrics.ts'

export type Metrics = {
  /** Counts one envelope. Called by `receipts.settle` alone. */
  count(receipt: Receipt): void
  /** Counts how one that waited ended. Called by `receipts.end` alone. */
  countFinalOutcome(end: SpoolOutcome): void
  expose(): Promise<string>
}

/** Figures that are looked at when Prometheus asks. */
export type Gauges = {
  inFlight: () => number
  bodyBytes: () => number
  limits: () => LimitInForce[]
  upstreams: () => UpstreamState[]
  /** Absent in inbox mode. */
  spool: (() => Promise<SpoolStatus>) | undefined
  projects: Projects
  now: () => number
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Label values come from closed sets: answers, our codes, configured projects, known item types, Sentry's categories, status classes. */
export function createMetrics(gauges: Gauges): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, prefix: 'culvert_' })
  const envelopes = new Counter({
    name: 'culvert_envelopes_total',
    help: 'Envelopes by outcome.',
    labelNames: ['outcome', 'reason', 'project', 'category'] as const,
    registers,
  })
  const items = new Counter({
    name: 'culvert_items_total',
    help: 'Items by type and the outcome of their envelope, or the reason they were discarded.',
    labelNames: ['type', 'outcome'] as const,
    registers,
  })
  const bytes = new Counter({
    name: 'culvert_envelope_bytes_total',
    help: 'Body bytes of envelopes as received.',
    labelNames: ['outcome', 'project', 'category'] as const,
    registers,
  })
  const upstreamAnswers = new Counter({
    name: 'culvert_upstream_responses_total',
    help: 'Responses of Sentry by status class.',
    labelNames: ['status'] as const,
    registers,
  })
  const seconds = new Histogram({
    name: 'culvert_request_duration_seconds',
    help: 'Seconds from the first byte of an envelope to its response.',
    labelNames: ['outcome'] as const,
    buckets: SECONDS,
    registers,
  })
  const upstreamSeconds = new Histogram({
    name: 'culvert_upstream_request_duration_seconds',
    help: 'Seconds until an upstream responded, without timeouts.',
    labelNames: ['upstream'] as const,
    buckets: SECONDS,
    registers,
  })
  const origins = new Map(gauges.projects.all.map(({ name, origin }) => [name, origin]))
  gauge('culvert_envelopes_in_flight', 'Envelopes taken and not answered yet.', gauges.inFlight)
  gauge('culvert_body_memory_bytes', 'Bytes of bodies held in memory.', gauges.bodyBytes)
  new Gauge({
    name: 'culvert_upstream_rate_limits',
    help: 'Limits that Sentry has asked for and that are in force.',
    labelNames: ['project', 'category'] as const,
    registers,
    collect() {
      this.reset()
      for (const { project, category } of gauges.limits()) this.set({ project, category }, 1)
    },
  })
  new Gauge({
    name: 'culvert_upstream_breaker_open',
    help: '1 while an upstream is not asked because it fails or is slow.',
    labelNames: ['upstream'] as const,
    registers,
    collect() {
      for (const { origin, breaker } of gauges.upstreams())
        this.set({ upstream: origin }, breaker.open ? 1 : 0)
    },
  })
  const ends = new Counter({
    name: 'culvert_spool_final_outcomes_total',
    help: 'Spooled envelopes by final outcome.',
    labelNames: ['final_outcome', 'project'] as const,
    registers,
  })
  const spool = gauges.spool && createSpoolMetrics(registry, gauges.spool, gauges)

  return { count, countFinalOutcome, expose }

  function expose(): Promise<string> {
    spool?.lookAgain()
    return registry.metrics()
  }

  function countFinalOutcome({ final_outcome: end, project }: SpoolOutcome): void {
    ends.inc({ final_outcome: end, project })
  }

  function gauge(name: string, help: string, read: () => number): void {
    new Gauge({ name, help, registers, collect: collectFrom(read) })
  }

  function count({
    outcome,
    reason,
    project = '',
    items: parts,
    bytes: size,
    duration_ms: durationMs,
    upstream_duration_ms: upstreamDurationMs,
    upstream_status: upstreamStatus,
  }: Receipt): void {
    const category = categoryOf(parts)
    envelopes.inc({ outcome, reason: reason ?? '', project, category })
    for (const { type, count: many = 1, discard_reason: discardReason } of parts)
      items.inc({ type, outcome: discardReason ?? outcome }, many)
    bytes.inc({ outcome, project, category }, size)
    seconds.observe({ outcome }, durationMs / 1000)
    const upstream = origins.get(project)
    if (upstream && upstreamStatus && upstreamDurationMs !== undefined)
      upstreamSeconds.observe({ upstream }, upstreamDurationMs / 1000)
    if (upstreamStatus) upstreamAnswers.inc({ status: `${Math.floor(upstreamStatus / 100)}xx` })
  }
}

function collectFrom(read: () => number) {
  return function collect(this: Gauge): void {
    this.set(read())
  }
}
