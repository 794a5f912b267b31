/** Incidents in words. */

import { formatCount } from '../quantities.ts'
import type { Problem } from './problems.ts'
import type { Incident } from './situation.ts'

/** Names of the problems that make an incident. `undefined` for others: an operator or Sentry has decided so, or they may last for weeks. */
const NAMES: Record<Problem['kind'], string | undefined> = {
  'no-replica': undefined,
  'stores-differ': undefined,
  losing: 'envelopes lost',
  'spool-failing': 'the spool accepted no envelopes',
  'spool-silent': 'the spool did not respond',
  upstream: 'Sentry unreachable',
  refused: 'envelopes refused',
  declined: 'Sentry declined all envelopes',
  'mostly-declined': 'Sentry declined most envelopes',
  'mostly-rejected': 'Culvert turned most envelopes away',
  'damaged-file': undefined,
  'figures-missing': undefined,
  'replicas-away': 'replicas did not respond',
  paused: undefined,
  silence: 'no report of a browser arrived',
  storm: undefined,
  'rate-limited': undefined,
  mirror: undefined,
  gap: 'no tunnel ran',
}

/** Kinds of problems that a tunnel can find. */
export const PROBLEM_KINDS = Object.keys(NAMES).filter(
  (kind) => !['no-replica', 'stores-differ'].includes(kind),
)

/** Reports whether a problem makes an incident. */
export function isIncident({ kind }: Problem): boolean {
  return NAMES[kind] !== undefined && kind !== 'gap'
}

/** Returns a sentence such as "Outage 11:48–11:50: Sentry unreachable (HTTP 503). 677 delivered late, 0 lost." */
export function describeIncident(incident: Incident, format: (time: number) => string): string {
  const { state, since, until, kinds, detail, delivered_late: late, lost, is_counting } = incident
  const word = state === 'outage' ? 'Outage' : 'Degraded'
  const [from, to] = [format(since), until === undefined ? undefined : format(until)]
  const time = to === undefined ? `since ${from}` : from === to ? from : `${from}–${to}`
  const names = kinds.flatMap((kind) => NAMES[kind] ?? []).join(', ')
  if (kinds.includes('gap')) return `${word} ${time}: ${names}; reports sent then are not counted.`
  const cause = detail === undefined ? names : `${names} (${detail})`
  const soFar = is_counting ? ' so far' : ''
  return `${word} ${time}: ${cause}. ${formatCount(late)} delivered late, ${formatCount(lost)} lost${soFar}.`
}
