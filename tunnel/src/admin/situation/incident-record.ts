/** Record of the state and the incidents, which all replicas of a spool write together. */

import { isIncident } from 'contract/situation/incidents'
import type { Problem } from 'contract/situation/problems'
import { type Incident, SITUATION_STATES, type SituationState, stateOf } from 'contract/situation/situation'
import { nameUpstreamError } from 'contract/situation/upstream-errors'

/** Times are in milliseconds since 1970 by the clock of the store. */
export type IncidentRecord = {
  /** Last time at which a replica ran. */
  alive: number
  /** State in force, its begin, and when a replica has last found it. */
  state: SituationState
  since: number
  seen: number
  /** Newest first. Only the first one may last. */
  incidents: RecordedIncident[]
}

/** `seen`: when a replica has last found it. `counted`: when its envelopes were counted. `empty`: when the spool was found empty after it. */
export type RecordedIncident = Incident & { seen: number; counted: number; empty?: number }

/** Envelopes since the begin of the newest incident, and those that are still pending; absent when they are unknown. */
export type IncidentCounts = { since: number; late: number; lost: number; pending: number | undefined }

export type Observation = {
  now: number
  /** Start of the replica that observes. */
  started: number
  problems: readonly Problem[]
  counts: IncidentCounts | undefined
}

/** Name of the shared value. */
export const RECORD_KEY = 'situation'
/** Replicas write together about once in this time, and less often in a calm state. */
const WRITE_MS = 4_000
const CALM_WRITE_MS = 9_000
/** A state is over when no replica has found it for so long: one that has read older reports must not end it. */
const OVER_MS = 12_000
/** Time without a replica that counts as a gap. A killed tunnel that starts again needs less. */
const GAP_MS = 30_000
/** After an incident, its envelopes are counted until the spool is empty, or for so long. */
const COUNTED_MS = 60 * 60_000
/** Time within which replicas write their counts. */
const FIGURES_LATE_MS = 10_000
const MAX_INCIDENTS = 20

const CALM = { state: 'ok' as const, incidents: [] }

/** Returns the record after an observation; `undefined` when there is nothing to write. */
export function recordObservation(
  before: IncidentRecord | undefined,
  { now, started, problems, counts }: Observation,
): IncidentRecord | undefined {
  const record = before ? notAfter(before, now) : { ...CALM, alive: now, since: now, seen: now }
  const incidents = countEnvelopes(
    continueIncident(endByGap(record, started), problems.filter(isIncident), now),
    counts,
    now,
  )
  const next = {
    ...continueState(record, stateOf(problems), now),
    alive: now,
    incidents: incidents.slice(0, MAX_INCIDENTS),
  }
  const isDue =
    before === undefined || now - record.alive >= (record.state === 'ok' ? CALM_WRITE_MS : WRITE_MS)
  return isDue || next.state !== record.state || differ(next.incidents, record.incidents) ? next : undefined
}

/** Returns the record without times in the future, which a wrong clock has written. */
function notAfter(record: IncidentRecord, now: number): IncidentRecord {
  const [newest, ...others] = record.incidents
  return {
    ...record,
    ...{
      alive: Math.min(record.alive, now),
      since: Math.min(record.since, now),
      seen: Math.min(record.seen, now),
    },
    incidents: newest && newest.seen > now ? [{ ...newest, seen: now }, ...others] : record.incidents,
  }
}

/** Returns the newest incident whose envelopes have to be counted now. */
export function incidentToCount(
  record: IncidentRecord | undefined,
  now: number,
): RecordedIncident | undefined {
  const newest = record?.incidents.find(({ kinds }) => !kinds.includes('gap'))
  return newest?.is_counting && now - newest.counted >= WRITE_MS ? newest : undefined
}

/** Returns an incident without the fields that only the record needs. */
export function showIncident({ seen: _, counted: __, empty: ___, ...incident }: RecordedIncident): Incident {
  return incident
}

function continueState(
  { state, since, seen }: IncidentRecord,
  found: SituationState,
  now: number,
): Pick<IncidentRecord, 'state' | 'since' | 'seen'> {
  if (found === state) return { state, since, seen: now }
  const isWorse = SITUATION_STATES.indexOf(found) > SITUATION_STATES.indexOf(state)
  return isWorse || now - seen > OVER_MS ? { state: found, since: now, seen: now } : { state, since, seen }
}

/** Ends the incident that lasted when the gap began, and adds the gap. The first replica that starts after it finds it. */
function endByGap({ alive, incidents }: IncidentRecord, started: number): RecordedIncident[] {
  if (started - alive <= GAP_MS) return incidents
  const [newest, ...others] = incidents
  const ended =
    newest && newest.until === undefined
      ? [{ ...newest, until: Math.max(newest.since, alive) }]
      : newest
        ? [newest]
        : []
  const gap: RecordedIncident = {
    ...{ state: 'outage', since: alive, until: started, kinds: ['gap'], delivered_late: 0, lost: 0 },
    ...{ is_counting: false, seen: started, counted: started },
  }
  return [gap, ...ended, ...others]
}

function continueIncident(
  incidents: RecordedIncident[],
  problems: readonly Problem[],
  now: number,
): RecordedIncident[] {
  const [newest, ...others] = incidents
  const lasting = newest && newest.until === undefined ? newest : undefined
  if (problems.length === 0) {
    if (!lasting || now - lasting.seen <= OVER_MS) return incidents
    return [{ ...lasting, until: lasting.seen }, ...others]
  }
  const found = stateOf(problems)
  const detail = findDetail(problems)
  if (!lasting) {
    const started: RecordedIncident = {
      ...{ state: found, since: beginOf(problems, newest?.until ?? 0, now), kinds: kindsOf(problems) },
      ...{ delivered_late: 0, lost: 0, is_counting: true, seen: now, counted: 0 },
      ...(detail !== undefined && { detail }),
    }
    const settled = incidents.map((each) => ({ ...each, is_counting: false }))
    return [started, ...settled]
  }
  const state = found === 'outage' ? found : lasting.state
  const kinds = [...new Set([...lasting.kinds, ...kindsOf(problems)])]
  const isNew =
    now - lasting.seen >= WRITE_MS || state !== lasting.state || kinds.length > lasting.kinds.length
  if (!isNew) return incidents
  return [{ ...(detail !== undefined && { detail }), ...lasting, state, kinds, seen: now }, ...others]
}

/** Returns when the first problem began: after the incident before it, and not in the future. */
function beginOf([first]: readonly Problem[], last: number, now: number): number {
  const since = first && 'since' in first ? first.since : undefined
  return Math.min(now, Math.max(last, since ?? now))
}

function kindsOf(problems: readonly Problem[]): Problem['kind'][] {
  return [...new Set(problems.map(({ kind }) => kind))]
}

function findDetail(problems: readonly Problem[]): string | undefined {
  const upstream = problems.find(({ kind }) => kind === 'upstream')
  if (upstream?.kind === 'upstream') return nameUpstreamError(upstream.error)
  const refused = problems.find(({ kind }) => kind === 'refused')
  return refused?.kind === 'refused' ? `HTTP ${refused.refusal.status}` : undefined
}

function countEnvelopes(
  incidents: RecordedIncident[],
  counts: IncidentCounts | undefined,
  now: number,
): RecordedIncident[] {
  if (!counts) return incidents
  return incidents.map((each) => {
    if (each.since !== counts.since || !each.is_counting) return each
    const { empty: known, ...incident } = each
    const empty = each.until === undefined || counts.pending !== 0 ? undefined : (known ?? now)
    const isSettled = empty !== undefined && now - empty > FIGURES_LATE_MS
    const isOver = isSettled || (each.until !== undefined && now - each.until > COUNTED_MS)
    return {
      ...{ ...incident, delivered_late: counts.late, lost: counts.lost, counted: now, is_counting: !isOver },
      ...(empty !== undefined && { empty }),
    }
  })
}

function differ(a: readonly RecordedIncident[], b: readonly RecordedIncident[]): boolean {
  return a.length !== b.length || a.some((each, index) => each !== b[index])
}
