/** What a replica has counted, read from its metrics, and how figures of several add up. */

import type { FinalOutcome, Outcome } from 'tunnel/contract'

/** How many envelopes were answered so, by project and reason, `''` for none, and by category. */
export type OutcomeCount = {
  outcome: Outcome
  reason: string
  project: string
  category: string
  count: number
}

/** Bytes of their bodies. */
export type ByteCount = Omit<OutcomeCount, 'reason'>

export type Figures = {
  outcomes: OutcomeCount[]
  /** Items by type, and how their envelope was answered or why they were taken out of it. */
  items: { type: string; outcome: string; count: number }[]
  bytes: ByteCount[]
  finalOutcomes: { finalOutcome: FinalOutcome; project: string; count: number }[]
  /** Envelopes answered within so many seconds (`+Inf`: all). */
  within: Record<string, number>
  /** The same of the upstreams' own answers, by `host[:port]`. */
  upstreams: Record<string, Record<string, number>>
}

/** How a process does, from the same place. */
export type ProcessStats = {
  inFlight: number
  rss: number
  cpuSeconds: number
  /** 99th percentile in seconds. */
  loopDelay: number
}

export const NO_FIGURES: Figures = {
  outcomes: [],
  items: [],
  bytes: [],
  finalOutcomes: [],
  within: {},
  upstreams: {},
}

export type Series = { name: string; labels: Record<string, string>; value: number }

const LINE = /^(culvert_\w+)(?:\{(.*)\})? (\S+)$/
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g

/** The samples of Prometheus's text format. */
export function readSeries(text: string): Series[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = LINE.exec(line) ?? []
    if (name === undefined) return []
    const named = [...labels.matchAll(LABEL)].map(([, key = '', given = '']) => [key, unquote(given)])
    return [{ name, labels: Object.fromEntries(named), value: Number(value) }]
  })
}

function unquote(text: string): string {
  return text.replace(/\\(.)/g, (_, letter) => (letter === 'n' ? '\n' : letter))
}

export function figuresOf(series: readonly Series[]): Figures {
  const named = (name: string) => series.filter((each) => each.name === name)
  return {
    outcomes: named('culvert_envelopes_total').map(({ labels, value }) => ({
      outcome: labels.outcome as Outcome,
      reason: labels.reason ?? '',
      project: labels.project ?? '',
      category: labels.category ?? '',
      count: value,
    })),
    items: named('culvert_items_total').map(({ labels, value }) => ({
      type: labels.type ?? '',
      outcome: labels.outcome ?? '',
      count: value,
    })),
    bytes: named('culvert_envelope_bytes_total').map(({ labels, value }) => ({
      outcome: labels.outcome as Outcome,
      project: labels.project ?? '',
      category: labels.category ?? '',
      count: value,
    })),
    finalOutcomes: named('culvert_spool_final_outcomes_total').map(({ labels, value }) => ({
      finalOutcome: labels.final_outcome as FinalOutcome,
      project: labels.project ?? '',
      count: value,
    })),
    within: sumBy(named('culvert_request_duration_seconds_bucket'), ({ labels }) => labels.le ?? ''),
    upstreams: Object.fromEntries(
      [
        ...Map.groupBy(named('culvert_upstream_request_duration_seconds_bucket'), ({ labels }) =>
          hostOf(labels.upstream ?? ''),
        ),
      ].map(([host, its]) => [host, sumBy(its, ({ labels }) => labels.le ?? '')]),
    ),
  }
}

/** Of an origin, or of a project's name, which begins with it. */
export function hostOf(text: string): string {
  return text.replace(/^https?:\/\//, '').replace(/\/.*/, '')
}

export function processStatsOf(series: readonly Series[]): ProcessStats {
  const value = (name: string) => series.find((each) => each.name === name)?.value
  return {
    inFlight: value('culvert_envelopes_in_flight') ?? 0,
    rss: value('culvert_process_resident_memory_bytes') ?? 0,
    cpuSeconds: value('culvert_process_cpu_seconds_total') ?? 0,
    loopDelay: value('culvert_nodejs_eventloop_lag_p99_seconds') ?? 0,
  }
}

/** All of them together: what stands for the same is one, with the counts added. */
export function addUp(all: readonly Figures[]): Figures {
  return {
    outcomes: merge(all.flatMap(({ outcomes: answers }) => answers)),
    items: merge(all.flatMap(({ items }) => items)),
    bytes: merge(all.flatMap(({ bytes }) => bytes)),
    finalOutcomes: merge(all.flatMap(({ finalOutcomes: ends }) => ends)),
    within: addRecords(all.map(({ within }) => within)),
    upstreams: addUpstreams(all.map(({ upstreams }) => upstreams)),
  }
}

function addUpstreams(all: readonly Figures['upstreams'][]): Figures['upstreams'] {
  const byHost = Map.groupBy(all.flatMap(Object.entries<Record<string, number>>), ([host]) => host)
  return Object.fromEntries(
    [...byHost].map(([host, its]) => [host, addRecords(its.map(([, within]) => within))]),
  )
}

function merge<T extends { count: number }>(counts: readonly T[]): T[] {
  const byName = new Map<string, T>()
  for (const each of counts) {
    const { count, ...name } = each
    const key = JSON.stringify(name)
    byName.set(key, { ...each, count: count + (byName.get(key)?.count ?? 0) })
  }
  return [...byName.values()]
}

function sumBy(series: readonly Series[], keyOf: (each: Series) => string): Record<string, number> {
  return addRecords(series.map((each) => ({ [keyOf(each)]: each.value })))
}

function addRecords(records: readonly Record<string, number>[]): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const record of records)
    for (const [key, value] of Object.entries(record)) sum[key] = (sum[key] ?? 0) + value
  return sum
}

/** How many by what `keyOf` says. */
export function countBy<T extends { count: number }>(
  counts: readonly T[],
  keyOf: (each: T) => string,
): Record<string, number> {
  return addRecords(counts.map((each) => ({ [keyOf(each)]: each.count })))
}

/** Seconds within which half and most of what was answered between two looks had its answer; neither when nothing was. */
export type DurationPercentiles = { p50?: number; p95?: number }

export function percentilesOf(before: Figures['within'], after: Figures['within']): DurationPercentiles {
  const p50 = quantile(0.5, before, after)
  const p95 = quantile(0.95, before, after)
  return { ...(p50 !== undefined && { p50 }), ...(p95 !== undefined && { p95 }) }
}

/** Seconds within which `share` of what was answered between two looks had its answer; `undefined` when nothing was. */
function quantile(share: number, before: Figures['within'], after: Figures['within']): number | undefined {
  const bounds = Object.keys(after).sort((a, b) => toBound(a) - toBound(b))
  const counts = bounds.map((bound) => (after[bound] ?? 0) - (before[bound] ?? 0))
  const all = counts.at(-1) ?? 0
  if (all <= 0) return undefined
  const at = counts.findIndex((count) => count >= all * share)
  const bound = toBound(bounds[at] ?? '')
  return Number.isFinite(bound) ? bound : toBound(bounds.at(-2) ?? '')
}

function toBound(text: string): number {
  return text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text)
}
