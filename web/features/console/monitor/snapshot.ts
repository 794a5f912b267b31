/** All replicas at a glance: what the overview and the list of replicas show, told every two seconds. However many projects there are, it stays small. */

import type { LimitInForce, ReplicaStatus, SpoolPause, SpoolStatus } from 'tunnel/contract'
import { hostOf } from './replica-metrics.ts'
import type { Change, Point, ReplicaView, Snapshot } from './replica-monitor.ts'
import type { UpstreamView, Way } from './upstreams.ts'

/** The first of many, and how many there are. */
export type Few<T> = { first: T[]; all: number }

export type ReplicaSummary = Omit<ReplicaView, 'status'> &
  Partial<Pick<ReplicaStatus, 'version' | 'since' | 'warnings'>>

export type SpoolOverview = Omit<SpoolStatus, 'partitions' | 'project_max_bytes' | 'attempts' | 'paused'> & {
  paused: Few<SpoolPause>
}

/** A server, or several; which of them are not asked, and how many kinds they hold back. */
export type UpstreamSummary = { name: string; hosts: number; open: Few<string>; held: number }

/** An upstream that so many of the replicas do not ask. */
export type NotAsked = { origin: string; by: number; of: number } & Pick<UpstreamView, 'since' | 'nextProbe'>

export type OverviewSnapshot = {
  time: number
  replicas: ReplicaSummary[]
  spools: SpoolOverview[]
  /** The one that is over first, first. */
  limits: Few<LimitInForce>
  ways: UpstreamSummary[]
  notAsked: Few<NotAsked>
  /** Newest first. */
  changes: Change[]
  point: Point
}

const MOST = 20

export function overviewOf(snapshot: Snapshot): OverviewSnapshot {
  const { time, replicas, spools, limits, upstreams, ways, changes, point } = snapshot
  const notAsked = upstreams.flatMap(({ open, closed, ...rest }) =>
    open.length > 0 ? [{ ...rest, by: open.length, of: open.length + closed.length }] : [],
  )
  return {
    time,
    replicas: replicas.map(replicaAt),
    spools: spools.map(spoolAt),
    limits: few(limits.toSorted((a, b) => a.until - b.until)),
    ways: waysAt(ways, notAsked, limits),
    notAsked: few(notAsked),
    changes,
    point,
  }
}

export function spoolAt(spool: SpoolStatus): SpoolOverview {
  const { partitions: _, project_max_bytes: __, attempts: ___, paused = [], ...rest } = spool
  return { ...rest, paused: few(paused) }
}

function replicaAt({ status, ...view }: ReplicaView): ReplicaSummary {
  if (!status) return view
  const { version, since, warnings } = status
  return { ...view, version, since, warnings }
}

function waysAt(
  ways: readonly Way[],
  notAsked: readonly NotAsked[],
  limits: readonly LimitInForce[],
): UpstreamSummary[] {
  const open = new Set(notAsked.map(({ origin }) => hostOf(origin)))
  const held = Map.groupBy(limits, ({ project }) => hostOf(project))
  return ways.map(({ name, hosts }) => ({
    ...{ name, hosts: hosts.length, open: few(hosts.filter((host) => open.has(host))) },
    held: hosts.reduce((sum, host) => sum + (held.get(host)?.length ?? 0), 0),
  }))
}

function few<T>(all: readonly T[]): Few<T> {
  return { first: all.slice(0, MOST), all: all.length }
}
