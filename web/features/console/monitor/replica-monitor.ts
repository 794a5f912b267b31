/** Polls every replica, adds up their counters, and keeps the last 15 minutes. */

import type { LimitInForce } from 'contract/admin-api'
import type { SpoolStatus } from 'contract/spool'
import {
  countBy,
  type DurationPercentiles,
  type Figures,
  NO_FIGURES,
  percentilesOf,
  sumCounts,
} from './figures.ts'
import { describeAction } from './operator-actions.ts'
import { findProblems, type Problem } from './problems.ts'
import { type ReplicaResponse, Replicas, type ReplicaView } from './replicas.ts'
import { type SimulatedOutage, simulatedOutageOf } from './simulated-outage.ts'
import {
  groupUpstreams,
  type UpstreamGroup,
  type UpstreamPoint,
  type UpstreamView,
  upstreamPoints,
  upstreamsOf,
} from './upstreams.ts'

/** Totals at one time. They never fall: the counters of stopped replicas stay in them. */
export type Point = {
  time: number
  outcomes: Record<string, number>
  categories: Record<string, number>
  items: Record<string, number>
  finalOutcomes: Record<string, number>
  bytes: number
  /** Envelopes pending in the spools, or for the end of a simulated outage. */
  pending: number
  /** By the name of the group. */
  upstreams: Record<string, UpstreamPoint>
  /** No replica responded: nothing is known of the time since the point before. */
  isGap?: true
} & DurationPercentiles

/** Change of a replica, an upstream or the spool, or by an operator. */
export type Change = { time: number; text: string }

export type Snapshot = {
  time: number
  replicas: ReplicaView[]
  totals: Figures
  spools: SpoolStatus[]
  /** Absent unless one is on or envelopes of one are pending. */
  simulatedOutage?: SimulatedOutage
  limits: LimitInForce[]
  upstreams: UpstreamView[]
  upstreamGroups: UpstreamGroup[]
  projects: string[]
  /** Newest first. */
  changes: Change[]
  /** The most severe first. */
  problems: Problem[]
  /** First poll without problems since the last one with some. */
  okSince?: number
  point: Point
}

export type MonitorDeps = {
  origins: () => Promise<string[]>
  /** Rejects when the replica does not respond. */
  ask: (origin: string) => Promise<ReplicaResponse>
  /** Milliseconds since 1970. */
  now: () => number
}

const HISTORY_MS = 15 * 60 * 1000 // 15 min
const MAX_POINTS = 500
const MAX_CHANGES = 50

export class Monitor {
  readonly #deps: MonitorDeps
  readonly #replicas = new Replicas((time, text) => {
    this.#changes = [{ time, text }, ...this.#changes].slice(0, MAX_CHANGES)
  })
  #changes: Change[] = []
  #points: Point[] = []
  /** The last known ones: their totals stay in the history while no replica responds. */
  #groups: UpstreamGroup[] = []
  #totalsBefore = NO_FIGURES
  #okSince: number | undefined
  #last: Snapshot | undefined
  #polling: Promise<Snapshot> | undefined

  constructor(deps: MonitorDeps) {
    this.#deps = deps
  }

  /** Returns the last snapshot unless it is older than `maxAgeMs`. */
  async snapshot(maxAgeMs: number): Promise<Snapshot> {
    if (this.#last && this.#deps.now() - this.#last.time < maxAgeMs) return this.#last
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  /** Polls the replicas now. A poll that has begun before does not count. */
  async refresh(): Promise<Snapshot> {
    await this.#polling?.catch(() => {})
    return this.snapshot(0)
  }

  /** Returns the points of the last 15 minutes, oldest first. */
  history(): Point[] {
    return this.#points
  }

  async #poll(): Promise<Snapshot> {
    const { origins, ask, now } = this.#deps
    const asked = (await origins()).map(
      async (origin) => [origin, await ask(origin).catch(() => undefined)] as const,
    )
    const responses = new Map(await Promise.all(asked))
    const time = now()
    this.#replicas.update(responses, time)
    this.#last = this.#describe(time)
    return this.#last
  }

  #describe(time: number): Snapshot {
    const replicas = this.#replicas.views()
    const responding = replicas.filter(({ state }) => state === 'responding')
    const totals = this.#replicas.totals()
    const spools = spoolsOf(responding)
    const simulatedOutage = simulatedOutageOf(responding.flatMap(({ status }) => status ?? []))
    const pending = spools.reduce((sum, { envelopes = 0 }) => sum + envelopes, simulatedOutage?.pending ?? 0)
    const upstreams = upstreamsOf(responding)
    const upstreamGroups = groupUpstreams(upstreams)
    if (upstreams.length > 0) this.#groups = upstreamGroups
    const limits = limitsOf(responding)
    const recentLosses = this.#replicas.recentLosses(time)
    const problems = findProblems({ replicas, upstreams, spools, limits, recentLosses, now: time })
    this.#okSince = problems.length > 0 ? undefined : (this.#okSince ?? time)
    return {
      ...{ time, replicas, totals, spools, upstreams, upstreamGroups, limits, problems },
      ...(this.#okSince !== undefined && { okSince: this.#okSince }),
      ...(simulatedOutage && { simulatedOutage }),
      changes: this.#changesWith(replicas),
      projects: [...new Set(responding.flatMap(({ status }) => status?.projects ?? []))],
      point: this.#addPoint(time, totals, pending, responding.length === 0),
    }
  }

  /** Adds the actions of operators, each of which one replica has carried out. */
  #changesWith(replicas: readonly ReplicaView[]): Change[] {
    const actions = replicas.flatMap(({ status }) => status?.actions ?? []) // a release without them may still run
    return [
      ...this.#changes,
      ...actions.map((action) => ({ time: action.time, text: describeAction(action) })),
    ]
      .toSorted((a, b) => b.time - a.time)
      .slice(0, MAX_CHANGES)
  }

  #addPoint(time: number, totals: Figures, pending: number, isGap: boolean): Point {
    const before = this.#points.length === 0 ? totals : this.#totalsBefore
    const point: Point = {
      time,
      outcomes: countBy(totals.outcomes, ({ outcome }) => outcome),
      categories: countBy(totals.outcomes, ({ category }) => category),
      items: countBy(totals.items, ({ type }) => type),
      finalOutcomes: countBy(totals.final_outcomes, ({ final_outcome }) => final_outcome),
      bytes: sumCounts(totals.bytes),
      pending,
      ...percentilesOf(before.durations, totals.durations),
      upstreams: upstreamPoints(this.#groups, totals, before),
      ...(isGap && { isGap }),
    }
    if (this.#replicas.isEmpty) return point // unknown totals are no zeros: the first known ones would look like growth
    this.#totalsBefore = totals
    this.#points = [...this.#points, point].filter((each) => each.time > time - HISTORY_MS).slice(-MAX_POINTS)
    return point
  }
}

/** Returns each spool once. Each replica learns separately whether a shared one accepts envelopes: the latest counts. */
function spoolsOf(replicas: readonly ReplicaView[]): SpoolStatus[] {
  const byId = new Map<string, SpoolStatus>()
  for (const { status } of replicas) {
    if (!status?.spool) continue
    const { spool } = status
    const other = byId.get(spool.id) ?? spool
    byId.set(spool.id, spool.since > other.since ? { ...other, ...spool } : { ...spool, ...other })
  }
  return [...byId.values()]
}

/** Returns each limit once. Its end can differ between replicas: the latest counts. */
function limitsOf(replicas: readonly ReplicaView[]): LimitInForce[] {
  const longest = new Map<string, LimitInForce>()
  for (const limit of replicas.flatMap(({ status }) => status?.limits ?? [])) {
    const name = `${limit.project} ${limit.category}`
    if (limit.until > (longest.get(name)?.until ?? 0)) longest.set(name, limit)
  }
  return [...longest.values()]
}
