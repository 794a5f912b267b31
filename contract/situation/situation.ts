/** State of the site's error reporting, as the tunnels compute it for the console, the metrics and alerts. Times are in milliseconds since 1970. */

import type { SpoolStatus } from '../spool.ts'
import type { Deployment } from './deployments.ts'
import type { LossCounts } from './losses.ts'
import { concernsErrors, type Problem } from './problems.ts'

/** `outage`: envelopes are lost, or none reach Sentry. */
export type SituationState = 'ok' | 'degraded' | 'outage'

/** States by severity, the lowest first. */
export const SITUATION_STATES: readonly SituationState[] = ['ok', 'degraded', 'outage']

export type Situation = {
  state: SituationState
  /** Since when it is in this state, as far as known. */
  since?: number
  /** The most severe first. */
  problems: Problem[]
  /** Last 7 days. `missing` describes the gaps. */
  week: { losses?: LossCounts; missing?: string }
  spools: Pick<SpoolStatus, 'envelopes' | 'oldest' | 'max_age_ms' | 'full_in_seconds'>[]
  /** The last ones, newest first. */
  incidents: Incident[]
  deployment?: Deployment
}

/** Time in which something was wrong that no operator decided. */
export type Incident = {
  /** The worst of it. */
  state: SituationState
  since: number
  /** Absent while it lasts. */
  until?: number
  /** Problems, in the order in which they began. */
  kinds: Problem['kind'][]
  /** Error of the upstream, such as "HTTP 503". */
  detail?: string
  /** Envelopes that the spool delivered since it began, and those that were lost. */
  delivered_late: number
  lost: number
  /** Both numbers still change: it lasts, or the spool is not empty yet. */
  is_counting: boolean
}

/** Returns the state in which a site with these problems is. */
export function stateOf(problems: readonly Problem[]): SituationState {
  if (problems.some(isOutage)) return 'outage'
  return problems.every(isNote) ? 'ok' : 'degraded'
}

/** Returns whether a problem needs no action: a gap that is over, or a rate limit on other categories than errors. */
export function isNote(problem: Problem): boolean {
  return problem.kind === 'gap' || (problem.kind === 'rate-limited' && !problem.limits.some(concernsErrors))
}

function isOutage(problem: Problem): boolean {
  return (
    problem.kind === 'no-replica' ||
    problem.kind === 'losing' ||
    (problem.kind === 'spool-failing' && problem.is_losing) ||
    (problem.kind === 'upstream' && problem.is_total)
  )
}
