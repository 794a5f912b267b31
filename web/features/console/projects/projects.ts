/** Projects: traffic by category and outcome, share of the spool, limits and SDKs. */

import type {
  FinalOutcome,
  LastSeen,
  MirrorResult,
  Outcome,
  ProjectActivity,
  ProjectSdks,
  ProjectTraffic,
} from 'contract/admin-api'
import { formatDsn, parseDsn } from 'contract/dsn'
import { hostOf, upstreamsOf } from 'contract/situation/upstreams'
import type { SpoolPartition } from 'contract/spool'
import type { LimitInForce, ProjectRefusal } from 'contract/upstream'
import { ROWS } from '../bounds.ts'
import { latestLimits, type Snapshot } from '../monitor/replica-monitor.ts'
import { FINAL_OUTCOMES, OUTCOMES } from '../outcomes.ts'
import { projectName } from './snippets.ts'

type UnknownType = ProjectSdks['unknown_types'][number]

export type Amount = { envelopes: number; bytes: number }
type Amounts = Partial<Record<Outcome, Amount>>

/** Envelopes of one category. */
type Traffic = { category: string; amounts: Amounts }

/** Pending envelopes of a project in one spool, and the share that it may use. */
export type SpoolShare = { partitions: SpoolPartition[]; bytes: number; maxBytes: number }

/** Mirror of a project. */
export type MirrorView = {
  name: string
  /** Envelopes that the project's own Sentry has accepted, and the mirror. */
  delivered: number
  mirrored: number
  /** Other projects that have the same mirror, whose envelopes its numbers include. */
  others: string[]
  /** Absent when a spool does not respond. */
  pending?: number
  /** Envelopes that the mirror did not get, by result. */
  missed: { result: MirrorResult; count: number }[]
  limits: LimitInForce[]
  /** Its server does not respond. */
  isAway: boolean
  refusal?: ProjectRefusal
}

export type ProjectView = {
  name: string
  /** Outcomes that occurred. */
  outcomes: Outcome[]
  /** The busiest category first. */
  traffic: Traffic[]
  totals: Amounts
  finalOutcomes: { outcome: FinalOutcome; count: number }[]
  /** Absent while the spool does not respond. */
  share: SpoolShare | undefined
  mirrors: MirrorView[]
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

/** Describes the projects named, from the reports of each replica. A site may have a thousand. */
export function describeProjects(
  snapshot: Pick<Snapshot, 'limits' | 'replicas' | 'spool'>,
  reports: readonly ProjectActivity[],
  names: readonly string[],
): ProjectView[] {
  const byProject = {
    reports: groupByProject(reports),
    limits: groupByProject(snapshot.limits),
    dsns: groupByProject(dsnsOf(snapshot)),
    refusals: groupByProject(upstreamsOf(snapshot.replicas).flatMap(({ refusals }) => refusals)),
  }
  const cspEndpoints = new Set(
    snapshot.replicas
      .flatMap(({ status }) => status?.upstreams ?? [])
      .flatMap(({ origin, csp_reports }) => (csp_reports === 'endpoint' ? hostOf(origin) : [])),
  )
  return names.map((name) => {
    const its = byProject.reports.get(name) ?? []
    const traffic = mergeTraffic(its.flatMap((report) => report.traffic))
    const sums = sumTraffic(traffic)
    const finalOutcomes = countFinalOutcomes(its)
    const delivered =
      (sums.delivered?.envelopes ?? 0) +
      (finalOutcomes.find(({ outcome }) => outcome === 'delivered')?.count ?? 0)
    const [refusal] = byProject.refusals.get(name) ?? []
    return {
      ...{ name, traffic, totals: sums },
      sdks: mergeNames(its.flatMap(({ sdks }) => sdks)),
      releases: mergeNames(its.flatMap(({ releases }) => releases)),
      unknownTypes: mergeCounts(its.flatMap(({ unknown_types: types }) => types)),
      outcomes: OUTCOMES.filter((outcome) => sums[outcome]),
      finalOutcomes,
      share: shareOf(snapshot.spool, name),
      mirrors: describeMirrors(snapshot, name, delivered),
      limits: byProject.limits.get(name) ?? [],
      dsns: (byProject.dsns.get(name) ?? []).map(({ dsn }) => dsn),
      ...(cspEndpoints.has(hostOf(name)) && { hasCspEndpoint: true as const }),
      ...(refusal && { refusal }),
    }
  })
}

/** Number of projects on a page. */
export const PROJECTS_PAGE = 50

/** Describes the projects of the page that begins at an offset: those with envelopes, and the others. */
export function describePage(
  snapshot: Pick<Snapshot, 'limits' | 'projects' | 'replicas' | 'spool'>,
  reports: readonly ProjectActivity[],
  from: number,
): { active: ProjectView[]; idle: ProjectView[] } {
  const projects = describeProjects(snapshot, reports, snapshot.projects.slice(from, from + PROJECTS_PAGE))
  return { active: projects.filter((project) => !isIdle(project)), idle: projects.filter(isIdle) }
}

/** Reports whether a project has no traffic, no spool entries and no limits. */
function isIdle({ traffic, finalOutcomes, share, limits, sdks }: ProjectView): boolean {
  return [traffic, finalOutcomes, limits, sdks, share?.partitions ?? []].every(({ length }) => length === 0)
}

function groupByProject<T extends { project: string }>(all: readonly T[]): Map<string, T[]> {
  return Map.groupBy(all, ({ project }) => project)
}

function mergeTraffic(all: ProjectTraffic['traffic']): Traffic[] {
  const byCategory = Map.groupBy(all, ({ category }) => category)
  return Array.from(byCategory, ([category, same]) => ({
    category,
    amounts: sumAmounts(same.map(({ outcome, ...amount }) => [outcome, amount])),
  })).sort((a, b) => countEnvelopes(b) - countEnvelopes(a))
}

function countEnvelopes({ amounts }: Traffic): number {
  return Object.values(amounts).reduce((sum, { envelopes }) => sum + envelopes, 0)
}

function sumTraffic(traffic: readonly Traffic[]): Amounts {
  return sumAmounts(
    traffic.flatMap(({ amounts }) =>
      OUTCOMES.flatMap((outcome) => (amounts[outcome] ? [[outcome, amounts[outcome]] as const] : [])),
    ),
  )
}

function sumAmounts(all: readonly (readonly [Outcome, Amount])[]): Amounts {
  const sums: Amounts = {}
  for (const [outcome, { envelopes, bytes }] of all) {
    const { envelopes: before, bytes: bytesBefore } = sums[outcome] ?? { envelopes: 0, bytes: 0 }
    sums[outcome] = { envelopes: before + envelopes, bytes: bytesBefore + bytes }
  }
  return sums
}

function countFinalOutcomes(reports: readonly ProjectActivity[]): ProjectView['finalOutcomes'] {
  return FINAL_OUTCOMES.map((outcome) => ({
    outcome,
    count: reports.reduce((sum, { final_outcomes }) => sum + (final_outcomes[outcome] ?? 0), 0),
  })).filter(({ count }) => count > 0)
}

/** Returns `undefined` while the spool does not respond. */
function shareOf(spool: Snapshot['spool'], name: string): SpoolShare | undefined {
  if (!spool?.partitions) return undefined
  const partitions = spool.partitions.filter(({ project }) => project === name)
  const bytes = partitions.reduce((sum, partition) => sum + partition.bytes, 0)
  return { partitions, bytes, maxBytes: spool.project_max_bytes }
}

const MISSED = ['declined', 'expired', 'evicted', 'purged', 'lost'] as const satisfies MirrorResult[]

/** Sums up the replicas' reports of each mirror of a project. */
function describeMirrors(
  { replicas, spool }: Pick<Snapshot, 'replicas' | 'spool'>,
  project: string,
  delivered: number,
): MirrorView[] {
  const mirrors = replicas.flatMap(({ status }) => status?.mirrors ?? [])
  const its = mirrors.filter((each) => each.project === project)
  const partitions = spool?.mirrors ?? []
  const isComplete = spool?.envelopes !== undefined
  return Array.from(
    Map.groupBy(its, ({ mirror }) => mirror),
    ([name, all]) => {
      const countOf = (result: MirrorResult) =>
        all.reduce((sum, { results }) => sum + (results[result] ?? 0), 0)
      const pending = partitions
        .filter((partition) => partition.project === name)
        .reduce((sum, { envelopes }) => sum + envelopes, 0)
      const refusal = all
        .flatMap(({ upstream }) => upstream.refusals ?? [])
        .find((each) => each.project === name)
      return {
        ...{ name, delivered, mirrored: countOf('delivered') },
        others: [
          ...new Set(
            mirrors.flatMap((each) => (each.mirror === name && each.project !== project ? each.project : [])),
          ),
        ],
        ...(isComplete && { pending }),
        missed: MISSED.map((result) => ({ result, count: countOf(result) })).filter(({ count }) => count > 0),
        limits: latestLimits(all.flatMap(({ limits }) => limits)),
        isAway: all.some(({ upstream }) => upstream.breaker.open),
        ...(refusal && { refusal }),
      }
    },
  )
}

function dsnsOf({ replicas }: Pick<Snapshot, 'replicas'>): { dsn: string; project: string }[] {
  const all = new Set(replicas.flatMap(({ status }) => status?.dsns ?? []))
  return [...all].flatMap((text) => {
    const parsed = parseDsn(text)
    if (!parsed) return []
    return [{ dsn: formatDsn(parsed), project: projectName(parsed) }]
  })
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
