/** Computes the situation from the reports of all replicas and the figures, every few seconds and on demand. */

import { MAX_RANGE, sumFigures } from 'contract/figures'
import type { Deployment } from 'contract/situation/deployments'
import { lossesOf, sumLosses } from 'contract/situation/losses'
import {
  type ActiveStorm,
  type FiguresReading,
  findProblems,
  type Problem,
} from 'contract/situation/problems'
import { findSilence, type Silence } from 'contract/situation/silence'
import { type Situation, stateOf } from 'contract/situation/situation'
import { mirrorServersOf, upstreamsOf } from 'contract/situation/upstreams'
import type { SpoolStatus } from 'contract/spool'
import type { History } from '../../observe/history.ts'
import { once } from '../../pipeline/once.ts'
import {
  changeShared,
  parseShared,
  type SharedEntry,
  type SharedState,
  SNAPSHOT_STEPS,
} from '../../pipeline/shared-state.ts'
import { within } from '../../pipeline/within.ts'
import type { ForwardingStatus } from '../status.ts'
import {
  type IncidentCounts,
  type IncidentRecord,
  incidentToCount,
  RECORD_KEY,
  recordObservation,
  showIncident,
} from './incident-record.ts'
import { absentOf, type ReplicaReport, ReplicaReports, respondingOf } from './replica-reports.ts'

export type SituationDeps = {
  state: Pick<SharedState, 'get' | 'put' | 'clockOffsetMs'>
  replica: string
  /** State of this replica. */
  describe: () => Promise<ForwardingStatus>
  storms: () => ActiveStorm[]
  history: Pick<History, 'read'>
  /** Time without a report that is a problem; 0 for none. */
  silenceMs: number
  deployment: Deployment
  /** Milliseconds since 1970. */
  now: () => number
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const EVERY_MS = 5_000
/** Requests share a computation. */
const FRESH_MS = 1_000
/** An older situation is out of date. */
const STALE_MS = 30_000
const DESCRIBE_MS = 5_000
/** A response of the admin port waits for so long, and then has the last situation. */
const WAIT_MS = 700
const STORE_MS = 1_000
const RECENT_MS = 15 * MINUTE_MS
const WEEK_FRESH_MS = MINUTE_MS
const LOSSES_FRESH_MS = 15_000
const SILENCE_FRESH_MS = 20_000
/** A replica that computes less often has slept. */
const AWAKE_MS = 20_000
/** Replicas that start or wake up together do so within this time. */
const SETTLED_MS = MINUTE_MS
/** A gap is a problem for so long. */
const GAP_SHOWN_MS = HOUR_MS

type Week = Situation['week']

export class SituationMonitor {
  readonly #deps: SituationDeps
  readonly #reports: ReplicaReports
  readonly #started: number
  #timer: NodeJS.Timeout | undefined
  /** Without the shared state and the figures, the situation is that of this replica. */
  readonly #compute = once(() => this.#find())
  #last: { at: number; situation: Situation } | undefined
  #awakeSince = 0
  /** When the shared state was last away. */
  #awayAt = Number.NEGATIVE_INFINITY
  #week: { at: number; recentLosses: number; week: Week } | undefined
  #silence: { at: number; silence: Silence | undefined } | undefined
  /** Record as of the last observation. */
  #recorded: IncidentRecord | undefined

  constructor(deps: SituationDeps) {
    this.#deps = deps
    this.#reports = new ReplicaReports(deps)
    this.#started = deps.now()
  }

  start(): void {
    const compute = () => void this.#compute().catch(() => undefined) // the next one tries again
    this.#timer = setInterval(compute, EVERY_MS).unref()
    compute()
  }

  /** Notifies the other replicas that this one stops. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#reports.remove().catch(() => undefined) // then they miss it for a while
    await this.#compute.running?.catch(() => undefined)
  }

  /** Returns the situation, a second old at most unless the store is slow; `undefined` while there is none of the last seconds. */
  async current(): Promise<Situation | undefined> {
    if (this.#isLastWithin(FRESH_MS)) return this.#last?.situation
    return within(WAIT_MS, this.#compute()).catch(() =>
      this.#isLastWithin(STALE_MS) ? this.#last?.situation : undefined,
    )
  }

  #isLastWithin(ms: number): boolean {
    return this.#last !== undefined && Math.abs(this.#deps.now() - this.#last.at) < ms
  }

  /** Kinds of the problems that were found last. */
  kinds(): ReadonlySet<Problem['kind']> {
    return new Set(this.#last?.situation.problems.map(({ kind }) => kind))
  }

  async #find(): Promise<Situation> {
    const { describe, storms, replica, now } = this.#deps
    const own = await within(DESCRIBE_MS, describe())
    const report = reportOf(own, storms(), this.#started)
    const entries = await within(STORE_MS, this.#reports.exchange(report)).catch(() => {
      this.#awakeSince = now() // the others could not report either
      this.#awayAt = now()
      return NO_ENTRIES
    })
    const reports = new Map([...respondingOf(entries, now()), [replica, report]])
    const replicas = Array.from(reports, ([name, status]) => ({ name, status }))
    const mirroring = replicas.map(({ name, status }) => ({ name, status: { upstreams: status.mirrors } }))
    const figures = await this.#read(RECENT_MS)
    const spool = withHealth(own.spool, [...reports.values()])
    const problems = findProblems({
      absent: this.#mayMiss() ? absentOf(entries, now()) : [],
      upstreams: upstreamsOf(replicas),
      mirrors: upstreamsOf(mirroring),
      spools: [spool],
      storms: [...reports.values()].flatMap((each) => each.storms),
      ...{ limits: own.limits, figures, silence: await this.#readSilence(), now: now() },
    })
    const week = await this.#readWeek(figures)
    await this.#record(problems, spool.envelopes).catch(() => undefined) // the store is slow or fails
    const situation = this.#describe([...problems, ...this.#findGap()], week, spool)
    this.#last = { at: now(), situation }
    return situation
  }

  /** Reports whether this replica has run for a while: after a start or sleep of the machine, the others come back at the same time. */
  #mayMiss(): boolean {
    const { now } = this.#deps
    if (!this.#last || now() - this.#last.at > AWAKE_MS) this.#awakeSince = now()
    return now() - this.#awakeSince > SETTLED_MS
  }

  #describe(problems: Problem[], week: Week, { envelopes, oldest, ...spool }: SpoolStatus): Situation {
    const state = stateOf(problems)
    const since = this.#recorded?.state === state ? this.#recorded.since : this.#deps.now()
    const { max_age_ms, full_in_seconds } = spool
    const depth = {
      max_age_ms,
      ...(envelopes !== undefined && { envelopes }),
      ...(oldest !== undefined && { oldest }),
      ...(full_in_seconds !== undefined && { full_in_seconds }),
    }
    const incidents = this.#recorded?.incidents ?? []
    const { deployment } = this.#deps
    return {
      ...{ state, since, problems, week, spools: [depth], deployment },
      incidents: incidents.map(showIncident),
    }
  }

  /** Records an observation, once for all replicas. */
  async #record(problems: readonly Problem[], pending: number | undefined): Promise<void> {
    const { state, now } = this.#deps
    const offsetMs = state.clockOffsetMs()
    const time = now() + offsetMs
    const counted = incidentToCount(this.#recorded, time)
    const counts = counted && (await this.#count(counted.since, offsetMs, pending))
    // While nobody could write, others may have run. A clock may have been set back since the start.
    const started = this.#awayAt > this.#started ? Number.NEGATIVE_INFINITY : this.#started + offsetMs
    const observation = { now: time, started: Math.min(started, time), problems, counts }
    const change = (value: string | undefined) => {
      const stored = parseShared<IncidentRecord>(value)
      const next = recordObservation(stored, observation)
      this.#recorded = next ?? stored
      return next && JSON.stringify(next)
    }
    await within(STORE_MS, changeShared(state, RECORD_KEY, change))
  }

  /** Counts the envelopes since the begin of an incident; `undefined` while the figures cannot be read. */
  async #count(
    since: number,
    offsetMs: number,
    pending: number | undefined,
  ): Promise<IncidentCounts | undefined> {
    const { figures } = await this.#read(this.#deps.now() + offsetMs - since)
    if (!figures) return undefined
    const sum = sumFigures(figures.points)
    return { since, late: sum.final_outcomes.delivered ?? 0, lost: sumLosses(lossesOf(sum)), pending }
  }

  #findGap(): Problem[] {
    const gap = this.#recorded?.incidents.find(({ kinds }) => kinds.includes('gap'))
    if (gap?.until === undefined || this.#deps.now() - gap.until > GAP_SHOWN_MS) return []
    return [{ kind: 'gap', since: gap.since, until: gap.until }]
  }

  /** Returns the silence, some seconds old at most; `undefined` while the figures cannot be read. */
  async #readSilence(): Promise<Silence | undefined> {
    const { silenceMs, now } = this.#deps
    if (silenceMs === 0) return undefined
    if (this.#silence && now() - this.#silence.at < SILENCE_FRESH_MS) return this.#silence.silence
    const { figures } = await this.#read(silenceMs)
    const silence = figures && findSilence(figures)
    this.#silence = { at: now(), silence }
    return silence
  }

  /** Reads the losses of the week again when some were added, and once a minute. */
  async #readWeek({ figures: recent }: FiguresReading): Promise<Week> {
    const { now } = this.#deps
    const recentLosses = recent ? sumLosses(lossesOf(sumFigures(recent.points))) : 0
    const known = this.#week
    const freshMs = known?.recentLosses === recentLosses ? WEEK_FRESH_MS : LOSSES_FRESH_MS
    if (known && now() - known.at < freshMs) return known.week
    const { figures, missing } = await this.#read(MAX_RANGE)
    const week = {
      ...(figures && { losses: lossesOf(sumFigures(figures.points)) }),
      ...(missing !== undefined && { missing }),
    }
    this.#week = missing === undefined ? { at: now(), recentLosses, week } : undefined
    return week
  }

  /** Reads the figures of the last `ageMs`, in the shortest steps in which they are kept. */
  async #read(ageMs: number): Promise<FiguresReading> {
    const { history, now } = this.#deps
    const { step } = SNAPSHOT_STEPS.find(({ keepMs }) => ageMs < keepMs) ?? LONGEST_STEP
    const to = now()
    const from = Math.floor((to - ageMs) / step) * step
    try {
      return { figures: await history.read({ from, to, step }, step, from) }
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown error'
      return { missing: `The figures cannot be read: ${reason}.` }
    }
  }
}

const NO_ENTRIES: ReadonlyMap<string, SharedEntry<ReplicaReport>> = new Map()
const LONGEST_STEP = { step: HOUR_MS }

function reportOf(
  { upstreams, mirrors, spool }: ForwardingStatus,
  storms: ActiveStorm[],
  since: number,
): ReplicaReport {
  const { writable, since: healthSince, problem } = spool
  return {
    ...{ since, upstreams, mirrors: mirrorServersOf({ upstreams, mirrors }), storms },
    spool: { writable, since: healthSince, ...(problem !== undefined && { problem }) },
  }
}

/** Adds the health of the spool. Each replica learns separately whether it accepts envelopes: the latest counts. */
function withHealth(own: SpoolStatus, reports: readonly ReplicaReport[]): SpoolStatus {
  const latest = reports.toSorted((a, b) => b.spool.since - a.spool.since)[0]?.spool
  return latest && latest.since > own.since ? { ...own, ...latest } : own
}
