/** Sentry servers of all replicas: circuit breakers, errors and refusals. */

import type { ReplicaStatus } from '../admin-api.ts'
import type { LastUpstreamError, ProjectRefusal } from '../upstream.ts'

/** Names of the replicas with an open and with a closed circuit breaker. */
export type UpstreamView = {
  origin: string
  open: string[]
  closed: string[]
  /** It has responded to one of the replicas since that one started. */
  hasResponded: boolean
  /** When the first breaker opened, and when the next replica tries again. */
  since?: number
  nextProbe?: number
  /** When the last of the replicas may try again. */
  lastProbe?: number
  /** Newest error, with the equal ones of other replicas. */
  error?: LastUpstreamError
  /** Refused projects, each with the refusals of all replicas. */
  refusals: ProjectRefusal[]
}

/** Returns the host of an origin, or of a project's name, which begins with it. */
export function hostOf(text: string): string {
  return text.replace(/^https?:\/\//, '').replace(/\/.*/, '')
}

export function upstreamsOf(replicas: readonly { name?: string; status?: ReplicaStatus }[]): UpstreamView[] {
  const byOrigin = new Map<string, UpstreamView>()
  for (const { name = '', status } of replicas)
    for (const { origin, has_responded, breaker, last_error, refusals } of status?.upstreams ?? []) {
      const view = byOrigin.get(origin) ?? { origin, open: [], closed: [], hasResponded: false, refusals: [] }
      view.hasResponded ||= has_responded
      view[breaker.open ? 'open' : 'closed'].push(name)
      if (breaker.open) {
        view.since = Math.min(breaker.since, view.since ?? breaker.since)
        view.nextProbe = Math.min(breaker.next_probe, view.nextProbe ?? breaker.next_probe)
        view.lastProbe = Math.max(breaker.next_probe, view.lastProbe ?? breaker.next_probe)
      }
      if (last_error) view.error = mergeErrors(last_error, view.error)
      view.refusals = mergeRefusals([...view.refusals, ...refusals])
      byOrigin.set(origin, view)
    }
  return [...byOrigin.values()]
}

/** Returns the servers of mirrors, without those that are also the servers of projects. */
export function mirrorServersOf(
  replicas: readonly { name?: string; status?: ReplicaStatus }[],
): UpstreamView[] {
  return upstreamsOf(
    replicas.map(({ status, ...replica }) => {
      if (!status) return replica
      const own = new Set(status.upstreams.map(({ origin }) => origin))
      const servers = (status.mirrors ?? []).flatMap(({ upstream }) =>
        own.has(upstream.origin) ? [] : [[upstream.origin, upstream] as const],
      )
      return { ...replica, status: { ...status, upstreams: [...new Map(servers).values()] } }
    }),
  )
}

function mergeErrors(a: LastUpstreamError, b: LastUpstreamError | undefined): LastUpstreamError {
  if (!b) return a
  const newest = a.last > b.last ? a : b
  if (a.class !== b.class || a.code !== b.code || a.status !== b.status) return newest
  return { ...newest, first: Math.min(a.first, b.first), count: a.count + b.count }
}

function mergeRefusals(refusals: readonly ProjectRefusal[]): ProjectRefusal[] {
  const byProject = Map.groupBy(refusals, ({ project, is_decline }) => `${project} ${is_decline ?? false}`)
  return [...byProject.values()].map((all) =>
    all.reduce((a, b) => ({
      ...(a.last > b.last ? a : b),
      ...{ first: Math.min(a.first, b.first), count: a.count + b.count },
    })),
  )
}
