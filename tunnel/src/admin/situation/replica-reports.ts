/** Reports of the replicas about themselves, in the state that they share. */

import type { AbsentReplica, ActiveStorm } from 'contract/situation/problems'
import type { SpoolStatus } from 'contract/spool'
import type { UpstreamState } from 'contract/upstream'
import { type SharedEntry, SharedMap, type SharedState } from '../../pipeline/shared-state.ts'

/** State that only one replica knows. Times are in milliseconds since 1970. */
export type ReplicaReport = {
  /** Start of the replica. */
  since: number
  /** Upstreams of projects, and those of mirrors only. */
  upstreams: UpstreamState[]
  mirrors: UpstreamState[]
  /** Largest storms. */
  storms: ActiveStorm[]
  /** Result of its last put. */
  spool: Pick<SpoolStatus, 'writable' | 'since' | 'problem'>
}

export type ReplicaReportsDeps = {
  state: Pick<SharedState, 'get' | 'put' | 'clockOffsetMs'>
  replica: string
  /** Milliseconds since 1970. */
  now: () => number
}

/** Time after which a report is written again although it has not changed. */
const BEAT_MS = 9_000
/** A replica that has not reported for longer does not respond. */
const SILENT_MS = 25_000
/** Time for which an absent replica is missed. */
const MISSED_MS = 60 * 60_000
/** Upstreams in a report, those with problems first, refusals of each, and storms: at most some 10 KB, since 20 replicas share 256 KiB. */
const MAX_UPSTREAMS = 5
const MAX_REFUSALS = 3
const MAX_STORMS = 5
/** Properties that change with each attempt. */
const VOLATILE = new Set(['last', 'count', 'next_probe', 'seen', 'sent'])

export class ReplicaReports {
  readonly #deps: ReplicaReportsDeps
  readonly #map: SharedMap<ReplicaReport>
  #isRemoved = false
  #written = { text: '', at: Number.NEGATIVE_INFINITY }

  constructor(deps: ReplicaReportsDeps) {
    this.#deps = deps
    this.#map = new SharedMap({ ...deps, key: 'replicas', maxMs: MISSED_MS })
  }

  /** Publishes the own report if it has changed, or is old. Returns those of all replicas by name. Rejects when the store fails. */
  async exchange(own: ReplicaReport): Promise<Map<string, SharedEntry<ReplicaReport>>> {
    const { replica, now } = this.#deps
    const report = boundReport(own)
    const text = JSON.stringify(report, (name, value) => (VOLATILE.has(name) ? undefined : value))
    const isKnown = text === this.#written.text && now() - this.#written.at < BEAT_MS
    if (isKnown || this.#isRemoved) return this.#map.read()
    const at = now()
    const entries = await this.#map.update((all) => {
      if (!this.#isRemoved) all.set(replica, { value: report, until: at + MISSED_MS })
    })
    this.#written = { text, at }
    return entries
  }

  /** Removes the own report: the replica stops, and others must not report it as missing. */
  async remove(): Promise<void> {
    this.#isRemoved = true
    await this.#map.update((all) => all.delete(this.#deps.replica))
  }
}

/** Returns the reports of replicas that respond. */
export function respondingOf(
  entries: ReadonlyMap<string, SharedEntry<ReplicaReport>>,
  now: number,
): Map<string, ReplicaReport> {
  const responding = [...entries].filter(([, entry]) => now - timeOf(entry) <= SILENT_MS)
  return new Map(responding.map(([name, { value }]) => [name, value]))
}

/** Returns the replicas that do not respond, and did not stop in an orderly way. Each that has started since replaces one of them. */
export function absentOf(
  entries: ReadonlyMap<string, SharedEntry<ReplicaReport>>,
  now: number,
): AbsentReplica[] {
  const successors = [...respondingOf(entries, now).values()]
  const absent = [...entries].filter(([, entry]) => now - timeOf(entry) > SILENT_MS)
  return absent
    .toSorted(([, a], [, b]) => a.until - b.until)
    .flatMap(([name, entry]) => {
      const time = timeOf(entry)
      const successor = successors.findIndex(({ since }) => since > time)
      if (successor >= 0) successors.splice(successor, 1)
      return successor >= 0 ? [] : [{ name, since: time }]
    })
}

/** Returns when a report was written. */
function timeOf({ until }: SharedEntry<ReplicaReport>): number {
  return until - MISSED_MS
}

function boundReport({ upstreams, mirrors, storms, ...report }: ReplicaReport): ReplicaReport {
  return {
    ...report,
    upstreams: boundUpstreams(upstreams),
    mirrors: boundUpstreams(mirrors),
    storms: storms.toSorted((a, b) => b.seen - a.seen).slice(0, MAX_STORMS),
  }
}

function boundUpstreams(upstreams: readonly UpstreamState[]): UpstreamState[] {
  const worst = ({ breaker, refusals }: UpstreamState) =>
    Number(breaker.open) * 2 + Math.sign(refusals.length)
  return upstreams
    .toSorted((a, b) => worst(b) - worst(a))
    .slice(0, MAX_UPSTREAMS)
    .map((upstream) => ({ ...upstream, refusals: upstream.refusals.slice(0, MAX_REFUSALS) }))
}
