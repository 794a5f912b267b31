/** The Sentry servers behind all replicas: which are asked, what each has taken and how fast. Those too many for a picture are one. */

import type { ReplicaStatus } from 'tunnel/contract'
import { countBy, type DurationPercentiles, type Figures, hostOf, percentilesOf } from './replica-metrics.ts'

/** Which replicas do not ask it and which do; since when the first does not, and when the next one tries. */
export type UpstreamView = {
  origin: string
  open: string[]
  closed: string[]
  since?: number
  nextProbe?: number
}

/** One server by the name of its host, or several together. */
export type Way = { name: string; hosts: string[] }

/** What has been taken of what was sent on at once; how fast, of one server alone. */
export type UpstreamPoint = { delivered: number } & DurationPercentiles

export const OTHERS = '*'

const MOST_WAYS = 4

export function upstreamsOf(replicas: readonly { name: string; status?: ReplicaStatus }[]): UpstreamView[] {
  const byOrigin = new Map<string, UpstreamView>()
  for (const { name, status } of replicas)
    for (const { origin, breaker } of status?.upstreams ?? []) {
      const view = byOrigin.get(origin) ?? { origin, open: [], closed: [] }
      view[breaker.open ? 'open' : 'closed'].push(name)
      if (breaker.open) {
        view.since = Math.min(breaker.since, view.since ?? breaker.since)
        view.nextProbe = Math.min(breaker.next_probe, view.nextProbe ?? breaker.next_probe)
      }
      byOrigin.set(origin, view)
    }
  return [...byOrigin.values()]
}

export function waysTo(upstreams: readonly UpstreamView[]): Way[] {
  const hosts = upstreams.map(({ origin }) => hostOf(origin))
  const alone = hosts.length <= MOST_WAYS ? hosts : hosts.slice(0, MOST_WAYS - 1)
  const others = hosts.slice(alone.length)
  return [
    ...alone.map((host) => ({ name: host, hosts: [host] })),
    ...(others.length > 0 ? [{ name: OTHERS, hosts: others }] : []),
  ]
}

/** By the names of the ways. */
export function upstreamPoints(
  ways: readonly Way[],
  { outcomes: answers, upstreams }: Figures,
  before: Figures['upstreams'],
): Record<string, UpstreamPoint> {
  const delivered = countBy(
    answers.filter(({ outcome }) => outcome === 'delivered'),
    ({ project }) => hostOf(project),
  )
  return Object.fromEntries(
    ways.map(({ name, hosts }) => [
      name,
      {
        delivered: hosts.reduce((sum, host) => sum + (delivered[host] ?? 0), 0),
        ...(name !== OTHERS && percentilesOf(before[name] ?? {}, upstreams[name] ?? {})),
      },
    ]),
  )
}
