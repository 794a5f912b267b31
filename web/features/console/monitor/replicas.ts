/** Replicas that the monitor knows, with the counters of those that stopped. */

import type { ProcessFigures, ReplicaFigures, ReplicaStatus } from 'contract/admin-api'
import { addUp, type Figures, NO_FIGURES, sumCounts } from './figures.ts'
import {
  countLostEnvelopes,
  type LossCounts,
  type LossSample,
  recentLosses,
  recentSamples,
} from './losses.ts'
import { rateNow, SAMPLES_FOR_RATE } from './rates.ts'

/** `stopped`: replaced by another process, or unresponsive for longer than `STOPPED_AFTER_MS`. */
type ReplicaState = 'responding' | 'unresponsive' | 'stopped'

export type ReplicaView = {
  /** Absent until the first response. */
  name?: string
  origin: string
  state: ReplicaState
  lastResponse?: number
  unresponsiveSince?: number
  status?: ReplicaStatus
  /** Absent for a replica of a release without `GET /figures`. */
  process?: ProcessFigures
  /** Share of one core since the previous response. */
  cpu?: number
  /** Envelopes since it started; absent when it has no figures. */
  envelopes?: number
  /** Envelopes per second. */
  rate: number
}

/** `figures` are absent for a release without `GET /figures`. */
export type ReplicaResponse = { status: ReplicaStatus; figures: ReplicaFigures | undefined }

type Known = ReplicaView & {
  name: string
  lastResponse: number
  figures: Figures
  /** Most recent totals, oldest first. */
  samples: { time: number; envelopes: number }[]
  losses: LossSample[]
}

const STOPPED_AFTER_MS = 60_000
/** Stopped replicas that are shown. Of older ones only the counters are kept. */
const MAX_STOPPED = 20
/** Hidden replicas whose counters are kept apart, since an unresponsive one may come back with the same counters. */
const MAX_HIDDEN = 100

export class Replicas {
  readonly #onChange: (time: number, text: string) => void
  readonly #known = new Map<string, Known>()
  /** Origins without a response so far, and since when. */
  #unanswered = new Map<string, number>()
  readonly #hidden = new Map<string, Figures>()
  #forgotten = NO_FIGURES
  /** Sum of the forgotten and the hidden counters. */
  #past = NO_FIGURES

  constructor(onChange: (time: number, text: string) => void) {
    this.#onChange = onChange
  }

  /** Takes in the responses of all origins; `undefined` for none. */
  update(responses: ReadonlyMap<string, ReplicaResponse | undefined>, time: number): void {
    for (const [origin, response] of responses)
      if (response) this.#respond(origin, response, time)
      else this.#miss(origin, time)
    for (const each of this.#known.values()) if (!responses.has(each.origin)) this.#stop(each, time)
    this.#unanswered = new Map([...this.#unanswered].filter(([origin]) => responses.has(origin)))
    this.#hideStopped()
  }

  get isEmpty(): boolean {
    return this.#known.size === 0
  }

  views(): ReplicaView[] {
    return [
      ...[...this.#known.values()].map(({ figures: _, samples: __, losses: ___, ...view }) => view),
      ...[...this.#unanswered].map(([origin, unresponsiveSince]) => ({
        ...{ origin, state: 'unresponsive' as const, unresponsiveSince, rate: 0 },
      })),
    ]
  }

  /** Adds up the counters of all replicas, also of those that stopped. */
  totals(): Figures {
    return addUp([this.#past, ...[...this.#known.values()].map(({ figures }) => figures)])
  }

  recentLosses(time: number): LossCounts {
    return recentLosses(
      [...this.#known.values()].map(({ losses }) => losses),
      time,
    )
  }

  #respond(origin: string, { status, figures: given }: ReplicaResponse, time: number): void {
    const name = status.replica
    for (const each of this.#known.values())
      if (each.origin === origin && each.name !== name) this.#stop(each, time)
    this.#unanswered.delete(origin)
    if (this.#hidden.delete(name)) this.#sumPast()
    const before = this.#known.get(name)
    if (!before) this.#onChange(time, `${name} started responding`)
    else if (before.state !== 'responding') this.#onChange(time, `${name} responds again`)
    if (before?.status) for (const text of describeChanges(before.status, status)) this.#onChange(time, text)
    const known = before?.figures ?? NO_FIGURES
    const { process, ...counted } = given ?? { ...known, process: undefined }
    const vanished = status.spool?.lost ?? known.vanished // unknown while the spool does not respond
    const figures = { ...counted, vanished }
    const envelopes = sumCounts(figures.outcomes)
    const samples = [...(before?.samples ?? []), { time, envelopes }].slice(-SAMPLES_FOR_RATE)
    const losses = recentSamples([...(before?.losses ?? []), { time, ...countLostEnvelopes(figures) }], time)
    const cpu = cpuShare(before, process, time)
    this.#known.set(name, {
      ...{ name, origin, state: 'responding', lastResponse: time, status, figures, samples, losses },
      ...(process && { process, envelopes }),
      ...(cpu !== undefined && { cpu }),
      rate: rateNow(samples, (sample) => sample.envelopes),
    })
  }

  #miss(origin: string, time: number): void {
    const its = [...this.#known.values()].findLast((each) => each.origin === origin)
    if (!its) {
      if (!this.#unanswered.has(origin)) this.#unanswered.set(origin, time)
    } else if (its.state === 'responding') {
      this.#onChange(time, `${its.name} does not respond`)
      this.#known.set(its.name, { ...its, state: 'unresponsive', unresponsiveSince: time, rate: 0 })
    } else if (time - (its.unresponsiveSince ?? time) > STOPPED_AFTER_MS) this.#stop(its, time)
  }

  #stop(its: Known, time: number): void {
    if (its.state === 'stopped') return
    this.#onChange(time, `${its.name} stopped`)
    const unresponsiveSince = its.unresponsiveSince ?? time
    this.#known.set(its.name, { ...its, state: 'stopped', unresponsiveSince, rate: 0 })
  }

  #hideStopped(): void {
    const stopped = [...this.#known.values()].filter(({ state }) => state === 'stopped')
    const older = stopped.slice(0, Math.max(0, stopped.length - MAX_STOPPED))
    for (const { name, figures } of older) {
      this.#known.delete(name)
      this.#hidden.set(name, figures)
    }
    for (const [name, figures] of this.#hidden) {
      if (this.#hidden.size <= MAX_HIDDEN) break
      this.#hidden.delete(name)
      this.#forgotten = addUp([this.#forgotten, figures])
    }
    if (older.length > 0) this.#sumPast()
  }

  #sumPast(): void {
    this.#past = addUp([this.#forgotten, ...this.#hidden.values()])
  }
}

function cpuShare(
  before: Known | undefined,
  now: ProcessFigures | undefined,
  time: number,
): number | undefined {
  if (!before?.process || !now || time <= before.lastResponse) return undefined
  return (now.cpu_seconds - before.process.cpu_seconds) / ((time - before.lastResponse) / 1000)
}

/** Describes the differences between two statuses of a replica. */
function describeChanges(before: ReplicaStatus, after: ReplicaStatus): string[] {
  const breakers = after.upstreams.flatMap(({ origin, breaker }) => {
    const wasOpen = before.upstreams.find((each) => each.origin === origin)?.breaker.open ?? false
    if (wasOpen === breaker.open) return []
    return `${after.replica} ${breaker.open ? 'opened' : 'closed'} the circuit breaker of ${origin}`
  })
  const known = new Set(limitNames(before))
  const limited = limitNames(after).filter((name) => !known.has(name))
  const [was, is] = [before.spool?.writable, after.spool?.writable]
  const hasSpoolChanged = was !== undefined && is !== undefined && was !== is
  return [
    ...breakers,
    ...limited.map((name) => `Sentry rate-limits ${name} (${after.replica})`),
    ...(hasSpoolChanged ? [`the spool ${is ? 'accepts envelopes again' : 'accepts no envelopes'}`] : []),
  ]
}

function limitNames({ limits }: ReplicaStatus): string[] {
  return limits.filter(({ standing }) => !standing).map(({ project, category }) => `${project} ${category}`)
}
