/** Groups of Sentry servers, of which the flow diagram shows few. */

import { type FigureCounts, sumFigures } from 'contract/figures'
import { hostOf, type UpstreamView } from 'contract/situation/upstreams'

/** One server, named by its host, or several together. */
export type UpstreamGroup = { name: string; hosts: string[] }

/** Name of the group of all further servers. */
export const OTHERS = '*'

const MAX_GROUPS = 4

/** Groups servers so that a diagram has at most `MAX_GROUPS` of them. */
export function groupUpstreams(upstreams: readonly UpstreamView[]): UpstreamGroup[] {
  const hosts = upstreams.map(({ origin }) => hostOf(origin))
  const single = hosts.length <= MAX_GROUPS ? hosts : hosts.slice(0, MAX_GROUPS - 1)
  const others = hosts.slice(single.length)
  return [
    ...single.map((host) => ({ name: host, hosts: [host] })),
    ...(others.length > 0 ? [{ name: OTHERS, hosts: others }] : []),
  ]
}

/** Returns the figures of each group by its name. */
export function figuresOfGroups(
  groups: readonly UpstreamGroup[],
  upstreams: FigureCounts['upstreams'],
): FigureCounts['upstreams'] {
  const nameOf = new Map(groups.flatMap(({ name, hosts }) => hosts.map((host) => [host, name])))
  const named = Object.entries(upstreams).map(([origin, counts]) => ({
    upstreams: { [nameOf.get(hostOf(origin)) ?? OTHERS]: counts },
  }))
  return sumFigures(named).upstreams
}
