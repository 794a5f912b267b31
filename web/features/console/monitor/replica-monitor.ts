/** Looks at every replica now and then, adds up what they say, and remembers the last quarter of an hour. */

import type { LimitInForce, ReplicaStatus, SpoolStatus } from 'tunnel/contract'
import { LOOKS_FOR_RATE, rateNow } from './rates.ts'
import {
  addUp,
  countBy,
  type DurationPercentiles,
  type Figures,
  figuresOf,
  NO_FIGURES,
  type ProcessStats,
  percentilesOf,
  processStatsOf,
  readSeries,
} from './replica-metrics.ts'
import {
  type UpstreamPoint,
  type UpstreamView,
  upstreamPoints,
  upstreamsOf,
  type Way,
  waysTo,
} from './upstreams.ts'

/** `silent`: it does not answer just now. `ended`: another took its place, or it has been silent for long. */
export type ReplicaState = 'answering' | 'silent' | 'ended'

export type ReplicaView = {
  /** Unknown for one that has not answered yet. */
  name?: string
  origin: string
  state: ReplicaState
  /** When it last answered, and when it began not to. */
  seen?: number
  silentSince?: number
  status?: ReplicaStatus
  vitals?: ProcessStats
  /** Share of one core since the look before. */
  cpu?: number
  /** Envelopes that it has answered, and how many a second just now. */
  envelopes: number
  rate: number
}

/** Totals at one time. They never fall: what a replica counted stays when it has ended. */
export type Point = {
  time: number
  answers: Record<string, number>
  categories: Record<string, number>
  items: Record<string, number>
  ends: Record<string, number>
  bytes: number
  waiting: number
  waitingBytes: number
  /** By the name of the way there. */
  upstreams: Record<string, UpstreamPoint>
} & DurationPercentiles

export type Change = { time: number; text: string }

export type Snapshot = {
  time: number
  replicas: ReplicaView[]
  totals: Figures
  spools: SpoolStatus[]
  limits: LimitInForce[]
  upstreams: UpstreamView[]
  /** To them, as a picture shows them. */
  ways: Way[]
  projects: string[]
  /** Newest first. */
  changes: Change[]
  point: Point
}

export type Monitor = {
  /** After a fresh look when the last one is older than `maxAgeMs`. */
  look(maxAgeMs: number): Promise<Snapshot>
  /** After a look that begins now. */
  lookAnew(): Promise<Snapshot>
  /** Oldest first. */
  history(): Point[]
}

export type MonitorDeps = {
  origins: () => Promise<string[]>
  /** Rejects when the replica does not answer. */
  ask: (origin: string) => Promise<{ status: ReplicaStatus; metrics: string }>
  now: () => number
}

const REMEMBERED_MS = 15 * 60 * 1000 // 15 min
const MOST_POINTS = 500
const MOST_CHANGES = 50
const MOST_ENDED = 20 // shown; of older ones only the counts are kept
const MOST_OUT_OF_SIGHT = 100 // whose counts are still told apart: one that was but silent for long tells them itself when it is back
const ENDED_AFTER_MS = 60_000

/** `looks`: the last ones, oldest first. */
type Known = ReplicaView & { name: string; time: number; figures: Figures; looks: Look[] }

type Look = { time: number; envelopes: number }

export function createMonitor({ origins, ask, now }: MonitorDeps): Monitor {
  const known = new Map<string, Known>()
  let unheard = new Map<string, number>() // origins that have not answered yet, since when
  const outOfSight = new Map<string, Figures>()
  let forgotten: Figures = NO_FIGURES
  let gone: Figures = NO_FIGURES // both of these
  let ways: Way[] = [] // those last known: while nobody answers their totals go on
  let points: Point[] = []
  let changes: Change[] = []
  let last: Snapshot | undefined
  let before: Pick<Figures, 'within' | 'upstreams'> = NO_FIGURES
  let looking: Promise<Snapshot> | undefined
  return { look, lookAnew, history: () => points }

  async function look(maxAgeMs: number): Promise<Snapshot> {
    if (last && now() - last.time < maxAgeMs) return last
    looking ??= lookAround().finally(() => {
      looking = undefined
    })
    return looking
  }

  async function lookAnew(): Promise<Snapshot> {
    await looking?.catch(() => {})
    return look(0)
  }

  async function lookAround(): Promise<Snapshot> {
    const found = await origins()
    const answers = await Promise.all(
      found.map(async (origin) => ({ origin, said: await ask(origin).catch(() => undefined) })),
    )
    const time = now()
    for (const { origin, said } of answers)
      if (said) hear(origin, said.status, said.metrics, time)
      else miss(origin, time)
    for (const each of known.values()) if (!found.includes(each.origin)) end(each, time)
    unheard = new Map([...unheard].filter(([origin]) => found.includes(origin)))
    forgetEnded()
    last = describe(time)
    return last
  }

  function hear(origin: string, status: ReplicaStatus, metrics: string, time: number): void {
    const name = status.replica
    for (const each of known.values()) if (each.origin === origin && each.name !== name) end(each, time)
    unheard.delete(origin)
    if (outOfSight.delete(name)) addUpGone()
    const series = readSeries(metrics)
    const figures = figuresOf(series)
    const envelopes = sum(figures.outcomes)
    const vitals = processStatsOf(series)
    const before = known.get(name)
    const seconds = before ? (time - before.time) / 1000 : 0
    if (!before) note(time, `${name} started responding`)
    else if (before.state !== 'answering') note(time, `${name} responds again`)
    if (before?.status) noteDifferences(before.status, status, time)
    const looks = [...(before?.looks ?? []), { time, envelopes }].slice(-LOOKS_FOR_RATE)
    known.set(name, {
      ...{ name, origin, state: 'answering', seen: time, time, status, vitals, figures, envelopes, looks },
      rate: rateNow(looks, (look) => look.envelopes),
      ...(before?.vitals && seconds > 0 && { cpu: (vitals.cpuSeconds - before.vitals.cpuSeconds) / seconds }),
    })
  }

  function miss(origin: string, time: number): void {
    const its = [...known.values()].find((each) => each.origin === origin && each.state !== 'ended')
    if (!its) {
      if (!unheard.has(origin)) unheard.set(origin, time)
      return
    }
    if (its.state === 'answering') {
      note(time, `${its.name} does not respond`)
      known.set(its.name, { ...its, state: 'silent', silentSince: time, rate: 0 })
    } else if (time - (its.silentSince ?? time) > ENDED_AFTER_MS) end(its, time)
  }

  function end(its: Known, time: number): void {
    if (its.state === 'ended') return
    note(time, `${its.name} stopped`)
    known.set(its.name, { ...its, state: 'ended', silentSince: its.silentSince ?? time, rate: 0 })
  }

  function forgetEnded(): void {
    const ended = [...known.values()].filter(({ state }) => state === 'ended')
    const older = ended.slice(0, Math.max(0, ended.length - MOST_ENDED))
    for (const { name, figures } of older) {
      known.delete(name)
      outOfSight.set(name, figures)
    }
    for (const [name, figures] of outOfSight) {
      if (outOfSight.size <= MOST_OUT_OF_SIGHT) break
      outOfSight.delete(name)
      forgotten = addUp([forgotten, figures])
    }
    if (older.length > 0) addUpGone()
  }

  function addUpGone(): void {
    gone = addUp([forgotten, ...outOfSight.values()])
  }

  function noteDifferences(before: ReplicaStatus, after: ReplicaStatus, time: number): void {
    for (const { origin, breaker } of after.upstreams) {
      const was = before.upstreams.find((each) => each.origin === origin)?.breaker.open ?? false
      if (was === breaker.open) continue
      const change = breaker.open ? 'opened' : 'closed'
      note(time, `${after.replica} ${change} the circuit breaker of ${origin}`)
    }
    const names = (status: ReplicaStatus) =>
      new Set(status.limits.map(({ project, category }) => `${project} ${category}`))
    const known = names(before)
    for (const name of names(after))
      if (!known.has(name)) note(time, `Sentry rate-limits ${name} (${after.replica})`)
    if (before.spool && after.spool && before.spool.writable !== after.spool.writable)
      note(time, `the spool ${after.spool.writable ? 'accepts envelopes again' : 'accepts no envelopes'}`)
  }

  function note(time: number, text: string): void {
    changes = [{ time, text }, ...changes].slice(0, MOST_CHANGES)
  }

  function describe(time: number): Snapshot {
    const replicas = [...known.values()]
    const answering = replicas.filter(({ state }) => state === 'answering')
    const totals = addUp([gone, ...replicas.map(({ figures }) => figures)])
    const spools = spoolsOf(answering)
    const upstreams = upstreamsOf(answering)
    if (upstreams.length > 0) ways = waysTo(upstreams)
    return {
      time,
      replicas: [
        ...replicas.map(({ time: _, figures: __, looks: ___, ...view }) => view),
        ...[...unheard].map(([origin, silentSince]) => ({
          ...{ origin, state: 'silent' as const, silentSince, rate: 0, envelopes: 0 },
        })),
      ],
      totals,
      spools,
      limits: limitsOf(answering),
      upstreams,
      ways: waysTo(upstreams),
      projects: [...new Set(answering.flatMap(({ status }) => status?.projects ?? []))],
      changes,
      point: remember(time, totals, spools),
    }
  }

  function remember(time: number, totals: Figures, spools: SpoolStatus[]): Point {
    const isFirst = points.length === 0
    const point: Point = {
      time,
      answers: countBy(totals.outcomes, ({ outcome }) => outcome),
      categories: countBy(totals.outcomes, ({ category }) => category),
      items: countBy(totals.items, ({ type }) => type),
      ends: countBy(totals.finalOutcomes, ({ finalOutcome: end }) => end),
      bytes: sum(totals.bytes),
      waiting: spools.reduce((sum, { envelopes = 0 }) => sum + envelopes, 0),
      waitingBytes: spools.reduce((sum, { bytes = 0 }) => sum + bytes, 0),
      ...(!isFirst && percentilesOf(before.within, totals.within)),
      upstreams: upstreamPoints(ways, totals, isFirst ? totals.upstreams : before.upstreams),
    }
    if (known.size === 0) return point // nothing is known, which is not nothing: no growth begins here
    before = totals
    points = [...points, point].filter((each) => each.time > time - REMEMBERED_MS).slice(-MOST_POINTS)
    return point
  }
}

function sum(counts: readonly { count: number }[]): number {
  return counts.reduce((all, { count }) => all + count, 0)
}

/** One that several replicas share is counted once. Whether it takes more each learns by itself: what was learnt last holds. */
function spoolsOf(replicas: readonly Known[]): SpoolStatus[] {
  const byId = new Map<string, SpoolStatus>()
  for (const { status } of replicas) {
    if (!status?.spool) continue
    const { spool } = status
    const other = byId.get(spool.id) ?? spool
    byId.set(spool.id, spool.since > other.since ? { ...other, ...spool } : { ...spool, ...other })
  }
  return [...byId.values()]
}

/** Each replica learns limits by itself; the longest stands. */
function limitsOf(replicas: readonly Known[]): LimitInForce[] {
  const longest = new Map<string, LimitInForce>()
  for (const limit of replicas.flatMap(({ status }) => status?.limits ?? [])) {
    const name = `${limit.project} ${limit.category}`
    if (limit.until > (longest.get(name)?.until ?? 0)) longest.set(name, limit)
  }
  return [...longest.values()]
}
