/** Situation of the site, as the tunnels that use its store report it. */

import type { Situation } from 'contract/situation/situation'
import { hostOf } from 'contract/situation/upstreams'
import { NOT_OPEN } from 'contract/spool'
import type { ReplicaView } from './replicas.ts'

/** Tunnels that respond: those that use the store of the site, and those with another one. */
type StoreUsers = { members: ReplicaView[]; strangers: ReplicaView[] }

/** Finds the store that most tunnels use. All of them should: one file on one machine, or NATS. */
export function findStore(replicas: readonly ReplicaView[]): StoreUsers {
  const responding = replicas.filter(({ state }) => state === 'responding')
  const byStore = Map.groupBy(responding, storeOf)
  byStore.delete(undefined)
  const ordered = [...byStore].toSorted(
    ([a = '', ofA], [b = '', ofB]) => ofB.length - ofA.length || a.localeCompare(b),
  )
  const [[, members] = [undefined, responding], ...others] = ordered
  return { members, strangers: others.flatMap(([, users]) => users) }
}

function storeOf({ status }: ReplicaView): string | undefined {
  const id = status?.spool?.id
  return id === NOT_OPEN ? undefined : id
}

/** Returns the situation that the tunnels of the store have found. Without a response, that is the problem. */
export function situationOf(replicas: readonly ReplicaView[], last: Situation | undefined): Situation {
  const { members, strangers } = findStore(replicas)
  if (members.length === 0) return findAbsence(replicas, last)
  const situation = members.flatMap(({ status }) => status?.situation ?? [])[0] ?? NOT_TOLD
  return addStrangers(situation, strangers)
}

/** Adds the problem that tunnels use another store, whose envelopes the console does not show. */
function addStrangers(situation: Situation, [first, ...others]: readonly ReplicaView[]): Situation {
  if (!first) return situation
  const { state, problems } = situation
  const { since: _, ...begun } = situation
  const differ = {
    ...{ kind: 'stores-differ' as const, name: first.name ?? hostOf(first.origin), others: others.length },
  }
  return state === 'outage'
    ? { ...situation, problems: [...problems, differ] }
    : { ...(state === 'ok' ? begun : situation), state: 'degraded', problems: [differ, ...problems] }
}

/** Situation while no replica has reported one: it has just started, or is of an earlier release. */
const NOT_TOLD: Situation = {
  ...{ state: 'degraded', week: {}, spools: [], incidents: [] },
  problems: [{ kind: 'figures-missing', text: 'The tunnels have not reported their state yet.' }],
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
