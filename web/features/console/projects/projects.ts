/** Projects: traffic by category and outcome, share of the spool, limits and SDKs. */

import type {
  ByteCount,
  FinalOutcome,
  LastSeen,
  LimitInForce,
  Outcome,
  OutcomeCount,
  ProjectSdks,
} from 'contract/admin-api'
import { formatDsn, parseDsn } from 'contract/dsn'
import type { SpoolPartition } from 'contract/spool'
import type { ProjectRefusal } from 'contract/upstream'
import { ROWS } from '../bounds.ts'
import { countBy, type Figures, hostOf } from '../monitor/figures.ts'
import type { Snapshot } from '../monitor/replica-monitor.ts'
import { upstreamsOf } from '../monitor/upstreams.ts'
import { FINAL_OUTCOMES, OUTCOMES } from '../outcomes.ts'
import { projectName } from './snippets.ts'

type UnknownType = ProjectSdks['unknown_types'][number]

export type Amount = { envelopes: number; bytes: number }
type Amounts = Partial<Record<Outcome, Amount>>

/** Envelopes of one category. */
export type Traffic = { category: string; amounts: Amounts }

/** Pending envelopes of a project in one spool, and the share that it may use. */
export type SpoolShare = { spool: string; partitions: SpoolPartition[]; bytes: number; maxBytes: number }

export type ProjectView = {
  name: string
  /** Outcomes that occurred. */
  outcomes: Outcome[]
  /** The busiest category first. */
  traffic: Traffic[]
  totals: Amounts
  finalOutcomes: { outcome: FinalOutcome; count: number }[]
  shares: SpoolShare[]
  limits: LimitInForce[]
  /** CSP reports go to an endpoint of their own, since the server discards them in envelopes. */
  hasCspEndpoint?: true
  /** Last answer with which the server refused envelopes, since it accepted one. */
  refusal?: ProjectRefusal
  /** Newest first. */
  sdks: LastSeen[]
  releases: LastSeen[]
  /** Types of items that Culvert does not know. */
  unknownTypes: UnknownType[]
  dsns: string[]
}

/** Describes the projects named. A site may have a thousand, with dozens of counters each. */
export function describeProjects(
  snapshot: Snapshot,
  sdks: readonly ProjectSdks[],
  names: readonly string[],
): ProjectView[] {
  const { totals } = snapshot
  const byProject = {
    outcomes: groupByProject(totals.outcomes),
    bytes: groupByProject(totals.bytes),
    finalOutcomes: groupByProject(totals.final_outcomes),
    limits: groupByProject(snapshot.limits),
    dsns: groupByProject(dsnsOf(snapshot)),
    sdks: groupByProject(sdks),
    refusals: groupByProject(upstreamsOf(snapshot.replicas).flatMap(({ refusals }) => refusals)),
  }
  const cspEndpoints = new Set(
    snapshot.replicas
      .flatMap(({ status }) => status?.upstreams ?? [])
      .flatMap(({ origin, csp_reports }) => (csp_reports === 'endpoint' ? hostOf(origin) : [])),
  )
  return names.map((name) => {
    const traffic = trafficOf(byProject.outcomes.get(name) ?? [], byProject.bytes.get(name) ?? [])
    const sums = sumTraffic(traffic)
    const [senders] = byProject.sdks.get(name) ?? []
    const [refusal] = byProject.refusals.get(name) ?? []
    return {
      ...{ name, traffic, totals: sums, sdks: senders?.sdks ?? [], releases: senders?.releases ?? [] },
      unknownTypes: senders?.unknown_types ?? [],
      outcomes: OUTCOMES.filter((outcome) => sums[outcome]),
      finalOutcomes: countFinalOutcomes(byProject.finalOutcomes.get(name) ?? []),
      shares: sharesOf(snapshot, name),
      limits: byProject.limits.get(name) ?? [],
      dsns: (byProject.dsns.get(name) ?? []).map(({ dsn }) => dsn),
      ...(cspEndpoints.has(hostOf(name)) && { hasCspEndpoint: true as const }),
      ...(refusal && { refusal }),
    }
  })
}

/** Reports whether a project has no traffic, no spool entries and no limits. */
export function isIdle({ traffic, finalOutcomes, shares, limits, sdks }: ProjectView): boolean {
  return [traffic, finalOutcomes, limits, sdks, shares.flatMap(({ partitions }) => partitions)].every(
    ({ length }) => length === 0,
  )
}

function groupByProject<T extends { project: string }>(all: readonly T[]): Map<string, T[]> {
  return Map.groupBy(all, ({ project }) => project)
}

function trafficOf(outcomes: readonly OutcomeCount[], bytes: readonly ByteCount[]): Traffic[] {
  const byCategory = new Map<string, Traffic>()
  const amountOf = (category: string, outcome: Outcome): Amount => {
    const traffic = byCategory.get(category) ?? { category, amounts: {} }
    byCategory.set(category, traffic)
    traffic.amounts[outcome] ??= { envelopes: 0, bytes: 0 }
    return traffic.amounts[outcome]
  }
  for (const { category, outcome, count } of outcomes) amountOf(category, outcome).envelopes += count
  for (const { category, outcome, count } of bytes) amountOf(category, outcome).bytes += count
  return [...byCategory.values()].sort((a, b) => countEnvelopes(b) - countEnvelopes(a))
}

function countEnvelopes({ amounts }: Traffic): number {
  return Object.values(amounts).reduce((sum, { envelopes }) => sum + envelopes, 0)
}

function sumTraffic(traffic: readonly Traffic[]): Amounts {
  const sums: Amounts = {}
  for (const { amounts } of traffic)
    for (const outcome of OUTCOMES) {
      const amount = amounts[outcome]
      if (!amount) continue
      const { envelopes, bytes } = sums[outcome] ?? { envelopes: 0, bytes: 0 }
      sums[outcome] = { envelopes: envelopes + amount.envelopes, bytes: bytes + amount.bytes }
    }
  return sums
}

function countFinalOutcomes(all: Figures['final_outcomes']): ProjectView['finalOutcomes'] {
  const counts = countBy(all, ({ final_outcome }) => final_outcome)
  return FINAL_OUTCOMES.flatMap((outcome) => (counts[outcome] ? [{ outcome, count: counts[outcome] }] : []))
}

function sharesOf({ spools }: Snapshot, name: string): SpoolShare[] {
  return spools.flatMap(({ id, partitions: all, project_max_bytes: maxBytes }) => {
    if (!all) return [] // the spool does not respond
    const partitions = all.filter(({ project }) => project === name)
    const bytes = partitions.reduce((sum, partition) => sum + partition.bytes, 0)
    return [{ spool: id, partitions, bytes, maxBytes }]
  })
}

function dsnsOf({ replicas }: Snapshot): { dsn: string; project: string }[] {
  const all = new Set(replicas.flatMap(({ status }) => status?.dsns ?? []))
  return [...all].flatMap((text) => {
    const parsed = parseDsn(text)
    if (!parsed) return []
    return [{ dsn: formatDsn(parsed), project: projectName(parsed) }]
  })
}

/** Merges the lists of several replicas. */
export function mergeSdks(lists: readonly ProjectSdks[]): ProjectSdks[] {
  return [...groupByProject(lists)].map(([project, same]) => ({
    project,
    sdks: mergeNames(same.flatMap(({ sdks }) => sdks)),
    releases: mergeNames(same.flatMap(({ releases }) => releases)),
    unknown_types: mergeCounts(same.flatMap(({ unknown_types: types }) => types)),
  }))
}

function mergeCounts(types: readonly UnknownType[]): UnknownType[] {
  return mergeNames(types).map((type) => ({
    ...type,
    count: types.reduce((sum, { name, count }) => sum + (name === type.name ? count : 0), 0),
  }))
}

function mergeNames(names: readonly LastSeen[]): LastSeen[] {
  const newest = new Map<string, number>()
  for (const { name, last } of names) newest.set(name, Math.max(last, newest.get(name) ?? 0))
  return [...newest]
    .map(([name, last]) => ({ name, last }))
    .sort((a, b) => b.last - a.last)
    .slice(0, ROWS.names)
}
