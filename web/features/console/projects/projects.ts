/** Each project that is carried for: what came of it by category and outcome, what of it waits or is held back, and who sends. */

import type {
  FinalOutcome,
  LastSeen,
  LimitInForce,
  Outcome,
  ProjectSdks,
  SpoolPartition,
} from 'tunnel/contract'
import { formatDsn, parseDsn } from 'tunnel/dsn'
import { ROWS } from '../bounds.ts'
import { type ByteCount, countBy, type Figures, type OutcomeCount } from '../monitor/replica-metrics.ts'
import type { Snapshot } from '../monitor/replica-monitor.ts'
import { FINAL_OUTCOMES, OUTCOMES } from '../outcomes.ts'

export type Amount = { envelopes: number; bytes: number }

/** Envelopes of one category, by how they were answered. */
export type Traffic = { category: string; amounts: Partial<Record<Outcome, Amount>> }

/** What of it waits in one spool, and how much may. */
export type SpoolShare = { spool: string; partitions: SpoolPartition[]; bytes: number; maxBytes: number }

export type ProjectView = {
  name: string
  /** The outcomes that there were. */
  answers: Outcome[]
  /** The busiest category first. */
  traffic: Traffic[]
  totals: Partial<Record<Outcome, Amount>>
  ends: { end: FinalOutcome; count: number }[]
  shares: SpoolShare[]
  limits: LimitInForce[]
  /** Newest first. */
  sdks: LastSeen[]
  releases: LastSeen[]
  /** Its keys, as an SDK is given them. */
  dsns: string[]
}

/** Those that `names` says: there may be a thousand, and each has counts by the dozen. */
export function projectsIn(
  snapshot: Snapshot,
  seen: readonly ProjectSdks[],
  names: readonly string[],
): ProjectView[] {
  const { totals } = snapshot
  const [answers, bytes, ends, limits, dsns, senders] = [
    byProject(totals.outcomes),
    byProject(totals.bytes),
    byProject(totals.finalOutcomes),
    byProject(snapshot.limits),
    byProject(dsnsOf(snapshot)),
    byProject(seen),
  ]
  return names.map((name) => {
    const traffic = trafficOf(answers.get(name) ?? [], bytes.get(name) ?? [])
    const sums = totalOf(traffic)
    const { sdks = [], releases = [] } = senders.get(name)?.[0] ?? {}
    return {
      ...{ name, traffic, totals: sums, sdks, releases },
      answers: OUTCOMES.filter((outcome) => sums[outcome]),
      ends: endsOf(ends.get(name) ?? []),
      shares: sharesOf(snapshot, name),
      limits: limits.get(name) ?? [],
      dsns: (dsns.get(name) ?? []).map(({ dsn }) => dsn),
    }
  })
}

function byProject<T extends { project: string }>(all: readonly T[]): Map<string, T[]> {
  return Map.groupBy(all, ({ project }) => project)
}

function trafficOf(answers: readonly OutcomeCount[], bytes: readonly ByteCount[]): Traffic[] {
  const byCategory = new Map<string, Traffic>()
  const amountOf = (category: string, outcome: Outcome): Amount => {
    const traffic = byCategory.get(category) ?? { category, amounts: {} }
    byCategory.set(category, traffic)
    traffic.amounts[outcome] ??= { envelopes: 0, bytes: 0 }
    return traffic.amounts[outcome]
  }
  for (const { category, outcome, count } of answers) amountOf(category, outcome).envelopes += count
  for (const { category, outcome, count } of bytes) amountOf(category, outcome).bytes += count
  return [...byCategory.values()].sort((a, b) => envelopesOf(b) - envelopesOf(a))
}

function envelopesOf({ amounts }: Traffic): number {
  return Object.values(amounts).reduce((sum, { envelopes }) => sum + envelopes, 0)
}

function totalOf(traffic: readonly Traffic[]): ProjectView['totals'] {
  const totals: ProjectView['totals'] = {}
  for (const { amounts } of traffic)
    for (const outcome of OUTCOMES) {
      const amount = amounts[outcome]
      if (!amount) continue
      const { envelopes, bytes } = totals[outcome] ?? { envelopes: 0, bytes: 0 }
      totals[outcome] = { envelopes: envelopes + amount.envelopes, bytes: bytes + amount.bytes }
    }
  return totals
}

function endsOf(ends: Figures['finalOutcomes']): ProjectView['ends'] {
  const counts = countBy(ends, ({ finalOutcome: end }) => end)
  return FINAL_OUTCOMES.flatMap((end) => (counts[end] ? [{ end, count: counts[end] }] : []))
}

function sharesOf({ spools }: Snapshot, name: string): SpoolShare[] {
  return spools.flatMap(({ id, partitions: byProject, project_max_bytes: projectMaxBytes }) => {
    if (!byProject) return [] // it cannot be asked just now
    const partitions = byProject.filter(({ project }) => project === name)
    const bytes = partitions.reduce((sum, partition) => sum + partition.bytes, 0)
    return [{ spool: id, partitions, bytes, maxBytes: projectMaxBytes }]
  })
}

/** As replicas have them, without secrets. */
function dsnsOf({ replicas }: Snapshot): { dsn: string; project: string }[] {
  const all = new Set(replicas.flatMap(({ status }) => status?.dsns ?? []))
  return [...all].flatMap((text) => {
    const parsed = parseDsn(text)
    if (!parsed) return []
    const { host, port, projectId } = parsed
    return [{ dsn: formatDsn(parsed), project: `${host}${port && `:${port}`}/${projectId}` }]
  })
}

/** What each replica has seen, as one: a name that several saw was last seen when the last of them saw it. */
export function mergeSeen(lists: readonly ProjectSdks[]): ProjectSdks[] {
  return [...Map.groupBy(lists, ({ project }) => project)].map(([project, its]) => ({
    project,
    sdks: mergeNames(its.flatMap(({ sdks }) => sdks)),
    releases: mergeNames(its.flatMap(({ releases }) => releases)),
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
