/** Situation of the site, as the replicas that respond tell it. */

import { addLosses, type LossCounts } from 'contract/situation/losses'
import { SITUATION_STATES, type Situation } from 'contract/situation/situation'
import type { ReplicaView } from './replicas.ts'

const MAX_INCIDENTS = 20

/** Returns what the replicas of each store found together. Without a response, that is the problem. */
export function situationOf(replicas: readonly ReplicaView[], last: Situation | undefined): Situation {
  const responding = replicas.filter(({ state }) => state === 'responding')
  if (responding.length === 0) return findAbsence(replicas, last)
  const byStore = new Map<string, Situation>()
  for (const { status, origin } of responding)
    if (status?.situation) byStore.set(status.history_store ?? origin, status.situation)
  const [first = NOT_TOLD, ...others] = byStore.values()
  return others.reduce(mergeTwo, first)
}

/** Situation while no replica has told one: it has just started, or is of an earlier release. */
const NOT_TOLD: Situation = {
  ...{ state: 'degraded', week: {}, spools: [], incidents: [] },
  problems: [{ kind: 'figures-missing', text: 'The tunnels do not tell the state yet.' }],
}

function findAbsence(replicas: readonly ReplicaView[], last: Situation | undefined): Situation {
  const times = replicas.flatMap(({ unresponsiveSince }) => unresponsiveSince ?? [])
  const since = times.length > 0 ? { since: Math.max(...times) } : {}
  return {
    ...{ state: 'outage', ...since, problems: [{ kind: 'no-replica', ...since }] },
    ...{ week: {}, spools: [], incidents: last?.incidents ?? [] },
    ...(last?.deployment && { deployment: last.deployment }),
  }
}

/** Merges the situations of two stores that share no replica. The worse one comes first. */
function mergeTwo(a: Situation, b: Situation): Situation {
  const severity = ({ state }: Situation) => SITUATION_STATES.indexOf(state)
  const [worse, other] = severity(b) > severity(a) ? [b, a] : [a, b]
  return {
    ...worse,
    problems: [...worse.problems, ...other.problems],
    week: mergeWeeks(worse.week, other.week),
    spools: [...worse.spools, ...other.spools],
    incidents: [...worse.incidents, ...other.incidents]
      .toSorted((x, y) => y.since - x.since)
      .slice(0, MAX_INCIDENTS),
  }
}

function mergeWeeks(a: Situation['week'], b: Situation['week']): Situation['week'] {
  const losses: LossCounts | undefined =
    a.losses && b.losses ? addLosses(a.losses, b.losses) : (a.losses ?? b.losses)
  const missing = [a.missing, b.missing].filter((text) => text !== undefined).join(' ')
  return { ...(losses && { losses }), ...(missing !== '' && { missing }) }
}
