/** Problems of the site's error reporting, from the state of all replicas. */

import type { Figures } from '../figures.ts'
import type { PolicyMode, StormStatus } from '../policies.ts'
import type { SpoolStatus } from '../spool.ts'
import type { LastUpstreamError, LimitInForce, ProjectRefusal } from '../upstream.ts'
import { type RecentLosses, recentLosses, sumLosses } from './losses.ts'
import { findMajority, isDeclined, isTurnedAway, limitedErrors, type Majority } from './majorities.ts'
import type { Silence } from './silence.ts'
import { hostOf, type UpstreamView } from './upstreams.ts'

/** Times are in milliseconds since 1970. */
export type Problem =
  /** No tunnel responds. Only web can find it. */
  | { kind: 'no-replica'; since?: number }
  /** Tunnels use another store than most: the first of them. Only web can find it. */
  | { kind: 'stores-differ'; name: string; others: number }
  /** Losses of the last 3 minutes. */
  | { kind: 'losing'; losses: RecentLosses }
  /** `is_losing`: Sentry is unreachable as well, so that envelopes get 503. */
  | { kind: 'spool-failing'; since: number; reason?: string; is_losing: boolean }
  /** The store returns no totals: its disk or its server hangs. */
  | { kind: 'spool-silent'; reason?: string }
  | UpstreamProblem
  /** Projects whose envelopes get a 4xx that is not Sentry's; the first of them. */
  | { kind: 'refused'; refusal: ProjectRefusal; others: number }
  /** Projects of which Sentry declines all envelopes; the first of them. */
  | { kind: 'declined'; refusal: ProjectRefusal; others: number }
  /** Sentry declines most reports, but not all of any project. */
  | ({ kind: 'mostly-declined' } & Majority)
  /** Culvert rejects or limits most reports. */
  | ({ kind: 'mostly-rejected' } & Majority)
  | { kind: 'damaged-file'; files: number }
  /** It is not known whether envelopes were lost. */
  | { kind: 'figures-missing'; text: string }
  | { kind: 'replicas-away'; name: string; others: number; since: number }
  /** `project` is absent when everything is paused. */
  | { kind: 'paused'; project?: string; others: number; since: number }
  | ({ kind: 'silence' } & Silence)
  /** The largest of the storms. */
  | { kind: 'storm'; storm: ActiveStorm; others: number }
  /** `dropped`: number of dropped errors, and the first minute of the current row of minutes with drops. */
  | { kind: 'rate-limited'; limits: CategoryLimit[]; dropped?: { since: number; count: number } }
  /** Servers of mirrors that are not reached, or refuse envelopes; the first of them. */
  | {
      kind: 'mirror'
      host: string
      others: number
      since?: number
      error?: LastUpstreamError
      status?: number
      /** It declines them, and does not only refuse them for now. */
      is_decline?: true
    }
  /** No tunnel ran. It is over, and stays for an hour. */
  | { kind: 'gap'; since: number; until: number }

/** Category that Sentry rate-limits, `all` included: the latest end in all projects. */
export type CategoryLimit = { category: string; until: number }

/** Storm on all replicas. */
export type ActiveStorm = StormStatus & { mode: PolicyMode }

/** Servers with an open circuit breaker. `is_total`: every server, on every replica. */
export type UpstreamProblem = {
  kind: 'upstream'
  is_total: boolean
  /** Number of these servers, and of all. */
  servers: number
  all_servers: number
  /** The first of them: its origin, and the replicas whose breaker is open. */
  origin: string
  replicas: number
  all_replicas: number
  /** It has responded since the tunnels started. */
  has_responded: boolean
  since?: number
  error?: LastUpstreamError
}

/** Replica that does not respond, and did not stop in an orderly way. */
export type AbsentReplica = { name: string; since: number }

/** Figures of all replicas. `missing` describes the gaps and their reason. */
export type FiguresReading = { figures?: Figures; missing?: string }

type ReplicaSet = {
  absent: readonly AbsentReplica[]
  upstreams: readonly UpstreamView[]
  /** Servers of mirrors only. */
  mirrors: readonly UpstreamView[]
  spools: readonly SpoolStatus[]
  limits: readonly LimitInForce[]
  /** Storms of each replica. */
  storms: readonly ActiveStorm[]
  /** Figures of the last minutes. */
  figures: FiguresReading
  silence: Silence | undefined
  now: number
}

/** Returns the problems, the most severe first. */
export function findProblems(set: ReplicaSet): Problem[] {
  const { absent, upstreams, mirrors, spools, limits, storms, figures, silence, now } = set
  const losses = figures.figures && recentLosses(figures.figures)
  const upstream = findUpstreamProblem(upstreams)
  const files = spools.reduce((sum, { damaged_files = [] }) => sum + damaged_files.length, 0)
  return [
    ...(losses && sumLosses(losses) > 0 ? [{ kind: 'losing', losses } as const] : []),
    ...spools.flatMap((spool) => findSpoolProblem(spool, upstream) ?? []),
    ...(upstream ? [upstream] : []),
    ...findRefusals(upstreams, now),
    ...findMajorities(upstreams, figures, now),
    ...(files > 0 ? [{ kind: 'damaged-file', files } as const] : []),
    ...findAbsence(absent),
    ...(figures.missing === undefined ? [] : [{ kind: 'figures-missing', text: figures.missing } as const]),
    ...(silence ? [{ kind: 'silence', ...silence } as const] : []),
    ...findPauses(spools),
    ...findStorms(storms),
    ...findLimits(limits, figures),
    ...findMirrorProblem(mirrors, now),
  ]
}

function findUpstreamProblem(upstreams: readonly UpstreamView[]): UpstreamProblem | undefined {
  const failing = upstreams.filter((upstream) => upstream.open.length > 0)
  const [first] = failing
  if (!first) return undefined
  const { origin, open, closed, hasResponded, since, error } = first
  const starts = [since, error?.first].filter((time) => time !== undefined)
  return {
    kind: 'upstream',
    is_total: failing.length === upstreams.length && failing.every((each) => each.closed.length === 0),
    ...{ servers: failing.length, all_servers: upstreams.length, origin },
    ...{ replicas: open.length, all_replicas: open.length + closed.length },
    has_responded: hasResponded,
    ...(starts.length > 0 && { since: Math.min(...starts) }),
    ...(error && { error }),
  }
}

const MIN_REFUSALS = 3 // a firewall may refuse a single envelope
const REFUSED_MS = 60 * 60_000 // pending envelopes are sent again within this
const DECLINED_MS = 24 * 60 * 60_000 // only an envelope that is accepted ends a row of declines, and a quiet site has few
const MIN_NETWORKS = 2 // a single sender may send what Sentry cannot read

/** Returns the refusals, the largest first. */
function listRefusals(upstreams: readonly UpstreamView[], now: number): ProjectRefusal[] {
  const refusals = upstreams
    .flatMap((upstream) => upstream.refusals)
    .filter(({ count }) => count >= MIN_REFUSALS)
    .filter(({ last, is_decline, networks = MIN_NETWORKS }) =>
      is_decline ? networks >= MIN_NETWORKS && last > now - DECLINED_MS : last > now - REFUSED_MS,
    )
  return refusals.toSorted((a, b) => b.count - a.count)
}

function findRefusals(upstreams: readonly UpstreamView[], now: number): Problem[] {
  const all = listRefusals(upstreams, now)
  const declines = all.filter((each) => each.is_decline)
  const refusals = all.filter((each) => !each.is_decline)
  const [refusal] = refusals
  const [decline] = declines
  return [
    ...(refusal ? [{ kind: 'refused', refusal, others: refusals.length - 1 } as const] : []),
    ...(decline ? [{ kind: 'declined', refusal: decline, others: declines.length - 1 } as const] : []),
  ]
}

function findMajorities(
  upstreams: readonly UpstreamView[],
  { figures }: FiguresReading,
  now: number,
): Problem[] {
  if (!figures) return []
  const isExplained = listRefusals(upstreams, now).some((each) => each.is_decline)
  const declined = isExplained ? undefined : findMajority(figures, isDeclined)
  const rejected = findMajority(figures, isTurnedAway)
  return [
    ...(declined ? [{ kind: 'mostly-declined', ...declined } as const] : []),
    ...(rejected ? [{ kind: 'mostly-rejected', ...rejected } as const] : []),
  ]
}

function findMirrorProblem(mirrors: readonly UpstreamView[], now: number): Problem[] {
  const away = findUpstreamProblem(mirrors)
  if (away) {
    const { origin, servers, since, error } = away
    const known = { ...(since !== undefined && { since }), ...(error && { error }) }
    return [{ kind: 'mirror', host: hostOf(origin), others: servers - 1, ...known }]
  }
  const refusals = listRefusals(mirrors, now)
  const [refusal] = refusals
  if (!refusal) return []
  const { project, status, first, is_decline } = refusal
  const others = refusals.length - 1
  return [
    {
      ...{ kind: 'mirror', host: hostOf(project), others, since: first, status },
      ...(is_decline && { is_decline: true }),
    },
  ]
}

function findSpoolProblem(spool: SpoolStatus, upstream: UpstreamProblem | undefined): Problem | undefined {
  const { writable, since, envelopes, problem } = spool
  const reason = problem === undefined ? {} : { reason: problem }
  if (!writable) return { kind: 'spool-failing', since, is_losing: upstream !== undefined, ...reason }
  return envelopes === undefined ? { kind: 'spool-silent', ...reason } : undefined
}

function findAbsence(absent: readonly AbsentReplica[]): Problem[] {
  const [first] = absent
  if (!first) return []
  const since = Math.min(...absent.map((each) => each.since))
  return [{ kind: 'replicas-away', name: first.name, others: absent.length - 1, since }]
}

function findPauses(spools: readonly SpoolStatus[]): Problem[] {
  const pauses = spools.flatMap(({ paused = [] }) => paused)
  const first = pauses.find(({ project }) => project === undefined) ?? pauses[0]
  return first ? [{ kind: 'paused', ...first, others: pauses.length - 1 }] : []
}

/** Each replica counts the errors that it gets of a storm. */
function findStorms(storms: readonly ActiveStorm[]): Problem[] {
  const byGroup = Map.groupBy(storms, ({ project, fingerprint }) => `${project} ${fingerprint}`)
  const all = [...byGroup.values()].flatMap((same) => {
    const [first] = same
    const sum = (count: (storm: ActiveStorm) => number) =>
      same.reduce((total, each) => total + count(each), 0)
    const since = Math.min(...same.map((each) => each.since))
    return first ? [{ ...first, since, seen: sum(({ seen }) => seen), sent: sum(({ sent }) => sent) }] : []
  })
  const [storm] = all.toSorted((a, b) => b.seen - a.seen)
  return storm ? [{ kind: 'storm', storm, others: all.length - 1 }] : []
}

function findLimits(limits: readonly LimitInForce[], { figures }: FiguresReading): Problem[] {
  const byCategory = Map.groupBy(
    limits.filter(({ standing }) => !standing),
    ({ category }) => category,
  )
  if (byCategory.size === 0) return []
  const latest = Array.from(byCategory, ([category, each]) => ({
    category,
    until: Math.max(...each.map(({ until }) => until)),
  }))
  const dropped = figures && limitedErrors(figures)
  return [{ kind: 'rate-limited', limits: latest.toSorted(compareLimits), ...(dropped && { dropped }) }]
}

/** Orders limits that hold back errors first, then those that end first. */
function compareLimits(a: CategoryLimit, b: CategoryLimit): number {
  return Number(concernsErrors(b)) - Number(concernsErrors(a)) || a.until - b.until
}

export function concernsErrors({ category }: CategoryLimit): boolean {
  return category === 'error' || category === 'all'
}
