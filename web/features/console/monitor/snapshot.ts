/** Summary of all replicas for the overview, sent every 2 s. Its size is bounded, whatever the number of projects. */

import type { ReplicaStatus } from 'contract/admin-api'
import type { FigureCounts, Figures } from 'contract/figures'
import { sumFigures } from 'contract/figures'
import type { FiguresReading } from 'contract/situation/problems'
import type { Situation } from 'contract/situation/situation'
import { hostOf, type UpstreamView } from 'contract/situation/upstreams'
import type { SpoolPause, SpoolStatus } from 'contract/spool'
import type { LastUpstreamError, LimitInForce } from 'contract/upstream'
import type { Listed } from '../bounds.ts'
import { type RecentCounts, recentCounts } from '../figures/figure-sums.ts'
import type { Change, Snapshot } from './replica-monitor.ts'
import type { ReplicaView } from './replicas.ts'
import { figuresOfGroups, type UpstreamGroup } from './upstream-groups.ts'

export type ReplicaSummary = Omit<ReplicaView, 'status'> &
  Partial<Pick<ReplicaStatus, 'version' | 'since' | 'warnings' | 'in_flight' | 'process'>> & {
    /** In the last 15 minutes; absent while the figures are missing. */
    envelopes?: number
  }

export type SpoolOverview = Omit<
  SpoolStatus,
  'partitions' | 'mirrors' | 'project_max_bytes' | 'attempts' | 'paused'
> & {
  /** Pending envelopes for mirrors. */
  mirrored: number
  paused: Listed<SpoolPause>
}

/** A server, or several: hosts with an open circuit breaker, and the number of categories that are rate-limited. */
export type UpstreamSummary = {
  name: string
  hosts: number
  open: Listed<string>
  limited: number
  /** Error of the last minute, or for which the circuit breaker is open. Only for a single server. */
  error?: LastUpstreamError
}

/** Upstream whose circuit breaker is open on `by` of `of` replicas. */
export type OpenBreaker = { origin: string; by: number; of: number } & Pick<
  UpstreamView,
  'since' | 'nextProbe' | 'error'
>

/** Figures of the last 15 minutes, with those of upstreams by the names of the diagram. */
export type Flow = { total: FigureCounts; now: RecentCounts }

/** Figures of the last 7 days. `missing` describes the gaps. */
type WeekSummary = Partial<Pick<FigureCounts, 'received' | 'reach' | 'browser_errors'>> & {
  missing?: string
}

export type OverviewSnapshot = {
  time: number
  replicas: ReplicaSummary[]
  spool?: SpoolOverview
  /** Milliseconds until it ends; absent without one. */
  simulatedOutage?: number
  /** The one that ends first, first; those on categories that the server does not store, last. */
  limits: Listed<LimitInForce>
  upstreams: UpstreamSummary[]
  openBreakers: Listed<OpenBreaker>
  /** Newest first. */
  changes: Change[]
  situation: Situation
  /** Damaged spool files. The number of their envelopes is unknown. */
  damagedFiles: number
  /** Absent while the figures are missing. */
  flow?: Flow
  /** Description of the figures that are missing. */
  missing?: string
  week: WeekSummary
}

const MAX_LISTED = 20
const RECENT_MS = 60_000

export function summarise(snapshot: Snapshot, week: FiguresReading): OverviewSnapshot {
  const { time, replicas, spool, limits, upstreams, upstreamGroups, changes } = snapshot
  const { situation, simulatedOutage } = snapshot
  const { figures, missing } = snapshot.recent
  const counted = new Map(figures?.replicas.map(({ name, envelopes }) => [name, envelopes]))
  const openBreakers = upstreams.flatMap(({ open, closed, refusals: _, hasResponded: __, ...rest }) =>
    open.length > 0 ? [{ ...rest, by: open.length, of: open.length + closed.length }] : [],
  )
  return {
    ...{ time, changes, situation, week: summariseWeek(week) },
    ...(figures && { flow: flowOf(figures, upstreamGroups) }),
    ...(missing !== undefined && { missing }),
    ...(simulatedOutage && { simulatedOutage }),
    damagedFiles: spool?.damaged_files?.length ?? 0,
    replicas: replicas.map((replica) => {
      const isAsked = missing === undefined && replica.state !== 'stopped'
      const envelopes = counted.get(replica.name ?? '') ?? (isAsked ? 0 : undefined)
      return { ...summariseReplica(replica), ...(envelopes !== undefined && { envelopes }) }
    }),
    ...(spool && { spool: summariseSpool(spool) }),
    limits: firstOf(
      limits.toSorted((a, b) => Number(isStanding(a)) - Number(isStanding(b)) || a.until - b.until),
    ),
    upstreams: summariseUpstreams(upstreamGroups, openBreakers, limits).map((summary) =>
      addError(summary, upstreams, time),
    ),
    openBreakers: firstOf(openBreakers),
  }
}

/** Reports whether a replica keeps envelopes for the inbox. */
export function hasInbox({ replicas }: Pick<Snapshot, 'replicas'>): boolean {
  return replicas.some(({ status }) => Number(status?.settings.KEEP_HOURS ?? 0) > 0)
}

export function summariseSpool(spool: SpoolStatus): SpoolOverview {
  const { partitions: _, mirrors = [], project_max_bytes: __, attempts: ___, paused = [], ...rest } = spool
  const mirrored = mirrors.reduce((sum, { envelopes }) => sum + envelopes, 0)
  return { ...rest, mirrored, paused: firstOf(paused) }
}

function summariseReplica({ status, ...view }: ReplicaView): ReplicaSummary {
  if (!status) return view
  const { version, since, in_flight, process } = status
  const warnings = view.state === 'stopped' ? [] : status.warnings // its successor may have other settings
  return { ...view, version, since, warnings, in_flight, ...(process && { process }) }
}

function flowOf(figures: Figures, groups: readonly UpstreamGroup[]): Flow {
  const grouped = (counts: FigureCounts) => ({
    ...{ ...counts, upstreams: figuresOfGroups(groups, counts.upstreams) },
  })
  const { counts, seconds } = recentCounts(figures)
  return { total: grouped(sumFigures(figures.points)), now: { counts: grouped(counts), seconds } }
}

function summariseWeek({ figures, missing }: FiguresReading): WeekSummary {
  const incomplete = missing === undefined ? {} : { missing }
  if (!figures) return incomplete
  const counts = sumFigures(figures.points)
  const { received, reach, browser_errors } = counts
  return { received, reach, browser_errors, ...incomplete }
}

function summariseUpstreams(
  groups: readonly UpstreamGroup[],
  openBreakers: readonly OpenBreaker[],
  limits: readonly LimitInForce[],
): UpstreamSummary[] {
  const open = new Set(openBreakers.map(({ origin }) => hostOf(origin)))
  const quotas = limits.filter((limit) => !isStanding(limit))
  const limited = Map.groupBy(quotas, ({ project }) => hostOf(project))
  return groups.map(({ name, hosts }) => ({
    ...{ name, hosts: hosts.length, open: firstOf(hosts.filter((host) => open.has(host))) },
    limited: hosts.reduce((sum, host) => sum + (limited.get(host)?.length ?? 0), 0),
  }))
}

function addError(
  summary: UpstreamSummary,
  upstreams: readonly UpstreamView[],
  time: number,
): UpstreamSummary {
  const { error } = upstreams.find(({ origin }) => hostOf(origin) === summary.name) ?? {}
  const isCurrent = summary.open.total > 0 || (error && error.last > time - RECENT_MS)
  return error && isCurrent ? { ...summary, error } : summary
}

function isStanding({ standing }: LimitInForce): boolean {
  return standing === true
}

function firstOf<T>(all: readonly T[]): Listed<T> {
  return { shown: all.slice(0, MAX_LISTED), total: all.length }
}
