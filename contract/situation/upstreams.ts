/** Sentry servers of all replicas: circuit breakers, errors and refusals. */

import type { LastUpstreamError, ProjectRefusal, UpstreamState } from '../upstream.ts'

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
  /** Newest error, with the equal ones of other replicas. */
  error?: LastUpstreamError
  /** Refused projects, each with the refusals of all replicas. */
  refusals: ProjectRefusal[]
}

/** Returns the host of an origin, or of a project's name, which begins with it. */
export function hostOf(text: string): string {
  return text.replace(/^https?:\/\//, '').replace(/\/.*/, '')
}

/** Replica with the state of its upstreams, as far as known. */
type ReportingReplica = { name?: string; status?: { upstreams: readonly UpstreamState[] } }

export function upstreamsOf(replicas: readonly ReportingReplica[]): UpstreamView[] {
  const byOrigin = new Map<string, UpstreamView>()
  for (const { name = '', status } of replicas)
    for (const { origin, has_responded, breaker, last_error, refusals } of status?.upstreams ?? []) {
      const view = byOrigin.get(origin) ?? { origin, open: [], closed: [], hasResponded: false, refusals: [] }
      view.hasResponded ||= has_responded
      view[breaker.open ? 'open' : 'closed'].push(name)
      if (breaker.open) {
        view.since = Math.min(breaker.since, view.since ?? breaker.since)
        view.nextProbe = Math.min(breaker.next_probe, view.nextProbe ?? breaker.next_probe)
      }
      if (last_error) view.error = mergeErrors(last_error, view.error)
      view.refusals = mergeRefusals([...view.refusals, ...refusals])
      byOrigin.set(origin, view)
    }
  return [...byOrigin.values()]
}

/** Returns the servers of mirrors of a replica, without those that are also the servers of projects. */
export function mirrorServersOf({
  upstreams,
  mirrors = [],
}: {
  upstreams: readonly UpstreamState[]
  mirrors?: readonly { upstream: UpstreamState }[] | undefined
}): UpstreamState[] {
  const own = new Set(upstreams.map(({ origin }) => origin))
  const servers = mirrors.flatMap(({ upstream }) =>
    own.has(upstream.origin) ? [] : [[upstream.origin, upstream] as const],
  )
  return [...new Map(servers).values()]
}

/** Errors further apart are of two outages: a replica without traffic keeps that of the first one. */
const SAME_OUTAGE_MS = 60_000

function mergeErrors(a: LastUpstreamError, b: LastUpstreamError | undefined): LastUpstreamError {
  if (!b) return a
  const [newest, older] = a.last > b.last ? [a, b] : [b, a]
  if (a.class !== b.class || a.code !== b.code || a.status !== b.status) return newest
  if (older.last < newest.first - SAME_OUTAGE_MS) return newest
  return { ...newest, first: Math.min(a.first, b.first), count: a.count + b.count }
}

function mergeRefusals(refusals: readonly ProjectRefusal[]): ProjectRefusal[] {
  const byProject = Map.groupBy(refusals, ({ project, is_decline }) => `${project} ${is_decline ?? false}`)
  return [...byProject.values()].map((all) =>
    all.reduce((a, b) => ({
      ...(a.last > b.last ? a : b),
      ...{ first: Math.min(a.first, b.first), count: a.count + b.count },
      ...(a.networks !== undefined && { networks: a.networks + (b.networks ?? 0) }),
    })),
  )
}
