/** Replicas that the monitor knows, and their changes. */

import type { ProcessFigures, ReplicaStatus } from 'contract/admin-api'

/** `stopped`: replaced by another process, or unresponsive for longer than `STOPPED_AFTER_MS`. */
type ReplicaState = 'responding' | 'unresponsive' | 'stopped'

export type ReplicaView = {
  /** Absent until the first response. */
  name?: string
  origin: string
  state: ReplicaState
  unresponsiveSince?: number
  lastResponse?: number
  status?: ReplicaStatus
  /** Share of one core since the previous response. */
  cpu?: number
}

type Known = ReplicaView & { name: string; lastResponse: number }

const STOPPED_AFTER_MS = 60_000
/** Stopped replicas that are shown. */
const MAX_STOPPED = 20

export class Replicas {
  readonly #onChange: (time: number, text: string) => void
  readonly #known = new Map<string, Known>()
  /** Origins without a response so far, and since when. */
  #unanswered = new Map<string, number>()

  constructor(onChange: (time: number, text: string) => void) {
    this.#onChange = onChange
  }

  /** Takes in the responses of all origins; `undefined` for none. */
  update(responses: ReadonlyMap<string, ReplicaStatus | undefined>, time: number): void {
    for (const [origin, status] of responses)
      if (status) this.#respond(origin, status, time)
      else this.#miss(origin, time)
    for (const each of this.#known.values()) if (!responses.has(each.origin)) this.#stop(each, time)
    this.#unanswered = new Map([...this.#unanswered].filter(([origin]) => responses.has(origin)))
    const stopped = [...this.#known.values()].filter(({ state }) => state === 'stopped')
    for (const { name } of stopped.slice(0, -MAX_STOPPED)) this.#known.delete(name)
  }

  views(): ReplicaView[] {
    return [
      ...this.#known.values(),
      ...[...this.#unanswered].map(([origin, unresponsiveSince]) => ({
        ...{ origin, state: 'unresponsive' as const, unresponsiveSince },
      })),
    ]
  }

  #respond(origin: string, status: ReplicaStatus, time: number): void {
    const name = status.replica
    for (const each of this.#known.values())
      if (each.origin === origin && each.name !== name) this.#stop(each, time)
    this.#unanswered.delete(origin)
    const before = this.#known.get(name)
    if (!before) this.#onChange(time, `${name} started responding`)
    else if (before.state !== 'responding') this.#onChange(time, `${name} responds again`)
    if (before?.status) for (const text of describeChanges(before.status, status)) this.#onChange(time, text)
    const cpu = cpuShare(before, status.process, time)
    this.#known.set(name, {
      ...{ name, origin, state: 'responding', lastResponse: time, status },
      ...(cpu !== undefined && { cpu }),
    })
  }

  #miss(origin: string, time: number): void {
    const its = [...this.#known.values()].findLast((each) => each.origin === origin)
    if (!its) {
      if (!this.#unanswered.has(origin)) this.#unanswered.set(origin, time)
    } else if (its.state === 'responding') {
      this.#onChange(time, `${its.name} does not respond`)
      this.#known.set(its.name, { ...its, state: 'unresponsive', unresponsiveSince: time })
    } else if (time - (its.unresponsiveSince ?? time) > STOPPED_AFTER_MS) this.#stop(its, time)
  }

  #stop(its: Known, time: number): void {
    if (its.state === 'stopped') return
    this.#onChange(time, `${its.name} stopped`)
    const unresponsiveSince = its.unresponsiveSince ?? time
    this.#known.set(its.name, { ...its, state: 'stopped', unresponsiveSince })
  }
}

function cpuShare(
  before: Known | undefined,
  now: ProcessFigures | undefined,
  time: number,
): number | undefined {
  const last = before?.status?.process
  if (!before || !last || !now || time <= before.lastResponse) return undefined
  return (now.cpu_seconds - last.cpu_seconds) / ((time - before.lastResponse) / 1000)
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
