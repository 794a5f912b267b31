/** Each project that is carried for: what came of it by category and fate, what of it waits or is held back, and who sends. */

import type { Answer, LimitInForce, SeenByProject, SeenName, SpoolEnd, SpoolLane } from 'tunnel/contract'
import { formatDsn, parseDsn } from 'tunnel/dsn'
import { ROWS } from '../bounds.ts'
import { type AnswerCount, type ByteCount, countBy, type Figures } from '../monitor/replica-metrics.ts'
import type { Snapshot } from '../monitor/replica-monitor.ts'
import { ANSWERS, ENDS } from '../outcomes.ts'

export type Amount = { envelopes: number; bytes: number }

/** Envelopes of one category, by how they were answered. */
export type Traffic = { category: string; amounts: Partial<Record<Answer, Amount>> }

/** What of it waits in one spool, and how much may. */
export type SpoolShare = { spool: string; lanes: SpoolLane[]; bytes: number; boundBytes: number }

export type ProjectView = {
  name: string
  /** The fates that there were. */
  answers: Answer[]
  /** The busiest category first. */
  traffic: Traffic[]
  totals: Partial<Record<Answer, Amount>>
  ends: { end: SpoolEnd['end']; count: number }[]
  shares: SpoolShare[]
  limits: LimitInForce[]
  /** Newest first. */
  sdks: SeenName[]
  releases: SeenName[]
  /** Its keys, as an SDK is given them. */
  dsns: string[]
}

/** Those that `names` says: there may be a thousand, and each has counts by the dozen. */
export function projectsIn(
  snapshot: Snapshot,
  seen: readonly SeenByProject[],
  names: readonly string[],
): ProjectView[] {
  const { totals } = snapshot
  const [answers, bytes, ends, limits, dsns, senders] = [
    byProject(totals.answers),
    byProject(totals.bytes),
    byProject(totals.ends),
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
      answers: ANSWERS.filter((answer) => sums[answer]),
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

function trafficOf(answers: readonly AnswerCount[], bytes: readonly ByteCount[]): Traffic[] {
  const byCategory = new Map<string, Traffic>()
  const amountOf = (category: string, answer: Answer): Amount => {
    const traffic = byCategory.get(category) ?? { category, amounts: {} }
    byCategory.set(category, traffic)
    traffic.amounts[answer] ??= { envelopes: 0, bytes: 0 }
    return traffic.amounts[answer]
  }
  for (const { category, answer, count } of answers) amountOf(category, answer).envelopes += count
  for (const { category, answer, count } of bytes) amountOf(category, answer).bytes += count
  return [...byCategory.values()].sort((a, b) => envelopesOf(b) - envelopesOf(a))
}

function envelopesOf({ amounts }: Traffic): number {
  return Object.values(amounts).reduce((sum, { envelopes }) => sum + envelopes, 0)
}

function totalOf(traffic: readonly Traffic[]): ProjectView['totals'] {
  const totals: ProjectView['totals'] = {}
  for (const { amounts } of traffic)
    for (const answer of ANSWERS) {
      const amount = amounts[answer]
      if (!amount) continue
      const { envelopes, bytes } = totals[answer] ?? { envelopes: 0, bytes: 0 }
      totals[answer] = { envelopes: envelopes + amount.envelopes, bytes: bytes + amount.bytes }
    }
  return totals
}

function endsOf(ends: Figures['ends']): ProjectView['ends'] {
  const counts = countBy(ends, ({ end }) => end)
  return ENDS.flatMap((end) => (counts[end] ? [{ end, count: counts[end] }] : []))
}

function sharesOf({ spools }: Snapshot, name: string): SpoolShare[] {
  return spools.flatMap(({ id, byProject, projectBoundBytes }) => {
    if (!byProject) return [] // it cannot be asked just now
    const lanes = byProject.filter(({ project }) => project === name)
    const bytes = lanes.reduce((sum, lane) => sum + lane.bytes, 0)
    return [{ spool: id, lanes, bytes, boundBytes: projectBoundBytes }]
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
export function mergeSeen(lists: readonly SeenByProject[]): SeenByProject[] {
  return [...Map.groupBy(lists, ({ project }) => project)].map(([project, its]) => ({
    project,
    sdks: mergeNames(its.flatMap(({ sdks }) => sdks)),
    releases: mergeNames(its.flatMap(({ releases }) => releases)),
  }))
}

function mergeNames(names: readonly SeenName[]): SeenName[] {
  const newest = new Map<string, number>()
  for (const { name, last } of names) newest.set(name, Math.max(last, newest.get(name) ?? 0))
  return [...newest]
    .map(([name, last]) => ({ name, last }))
    .sort((a, b) => b.last - a.last)
    .slice(0, ROWS.names)
}
