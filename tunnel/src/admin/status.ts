/** Status of a replica: its settings, without secrets, and its state. */

import type { MirrorResult, MirrorStatus, ReplicaStatus } from 'contract/admin-api'
import { type Dsn, formatDsn } from 'contract/dsn'
import type { PolicyStatus } from 'contract/policies'
import type { SettingName } from 'contract/settings'
import type { Situation } from 'contract/situation/situation'
import type { SpoolStatus } from 'contract/spool'
import type { UpstreamState } from 'contract/upstream'
import type { Forwarding } from '../forward/forwarding.ts'
import type { SimulatedOutage } from '../forward/inbox-upstream.ts'
import type { UpstreamLimits } from '../forward/limits/upstream-limits.ts'
import { describeSpool } from '../forward/spool-status.ts'
import type { Counters } from '../observe/counters.ts'
import type { History } from '../observe/history.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Projects } from '../pipeline/projects.ts'
import type { ProxyFaults } from '../policy/proxy-detection.ts'
import type { Quotas } from '../policy/quota/quotas.ts'
import type { ScrubSettings } from '../policy/scrub/scrub.ts'
import type { StormSettings, Storms } from '../policy/storms.ts'
import type { Throttle } from '../policy/throttle.ts'
import type { DoctorFindings } from './doctor-findings.ts'

type StatusConfig = {
  scrub: ScrubSettings | undefined
  storm: StormSettings
  shown: { [name in SettingName]?: string }
  dsns: readonly Dsn[]
  forward: boolean
  upstreamEncoding: 'off' | 'gzip'
  spool: { ageMs: number }
}

type StatusDeps = {
  config: StatusConfig
  version: string
  replica: string
  /** Milliseconds since 1970. */
  since: number
  ingest: { inFlight(): number }
  limits: UpstreamLimits
  projects: Projects
  counters: Pick<Counters, 'mirrored'>
  throttle: Throttle
  proxyFaults: ProxyFaults
  doctorFindings: DoctorFindings
  forwarding: Forwarding
  outage: Pick<SimulatedOutage, 'status'> | undefined
  storms: Storms | undefined
  quotas: Quotas | undefined
  writtenRules: PolicyStatus['rules']
  history: Pick<History, 'warning'>
  metrics: Pick<Metrics, 'load'>
  situation: { current(): Promise<Situation | undefined> }
  alerts: { warnings(): string[] } | undefined
  /** Milliseconds since 1970, and a monotonic clock in milliseconds. */
  now: () => number
  clock: () => number
}

export async function describeStatus(deps: StatusDeps): Promise<Omit<ReplicaStatus, 'actions'>> {
  const { config, version, replica, since, ingest, projects, throttle, forwarding, history } = deps
  const outage = await deps.outage?.status().catch(() => undefined)
  const [forwardingStatus, situation] = await Promise.all([
    describeForwarding(deps),
    deps.situation.current(),
  ])
  return {
    version,
    replica,
    since,
    settings: config.shown,
    dsns: config.dsns.map(formatDsn),
    projects: projects.all.map(({ name }) => name),
    in_flight: ingest.inFlight(),
    ...forwardingStatus,
    ...(situation && { situation }),
    ...(outage && { simulated_outage: outage }),
    process: await deps.metrics.load(),
    addresses: throttle.addresses(),
    policies: describePolicies(deps),
    warnings: [
      ...listRefusals(forwarding, config.upstreamEncoding),
      ...deps.proxyFaults.warnings(),
      ...deps.doctorFindings.warnings(),
      ...forwarding.deliverer.warnings(),
      ...(deps.alerts?.warnings() ?? []),
      ...(history.warning === undefined ? [] : [history.warning]),
    ],
  }
}

/** State of delivery, from which the situation is computed. */
export type ForwardingStatus = Pick<ReplicaStatus, 'limits' | 'upstreams' | 'mirrors'> & {
  spool: SpoolStatus
}

export type ForwardingStatusDeps = Pick<
  StatusDeps,
  'config' | 'limits' | 'projects' | 'counters' | 'forwarding' | 'now' | 'clock'
>

export async function describeForwarding(deps: ForwardingStatusDeps): Promise<ForwardingStatus> {
  const { config, limits, projects, forwarding, now, clock } = deps
  const upstreams = config.forward
    ? describeUpstreams(forwarding, config.upstreamEncoding, now() - clock())
    : []
  const mirrors = describeMirrors(deps, upstreams)
  const origins = new Set(projects.all.map(({ origin }) => origin))
  const mirrorNames = new Set(mirrors.map(({ mirror }) => mirror))
  return {
    limits: limits.inForce().filter(({ project }) => !mirrorNames.has(project)),
    upstreams: upstreams.filter(({ origin }) => origins.has(origin)),
    ...(mirrors.length > 0 && { mirrors }),
    spool: await describeSpool(forwarding, projects, config.spool.ageMs),
  }
}

function describeMirrors(
  { projects, counters, limits }: Pick<StatusDeps, 'projects' | 'counters' | 'limits'>,
  upstreams: readonly UpstreamState[],
): MirrorStatus[] {
  const pairs = new Map(projects.mirrors.map((pair) => [`${pair.source.name} ${pair.target.name}`, pair])) // keys of one project count together
  return [...pairs.values()].flatMap(({ source, target }) => {
    const upstream = upstreams.find(({ origin }) => origin === target.origin)
    if (!upstream) return []
    const results = counters.mirrored.all
      .filter(({ labels, count }) => labels.mirror === target.name && count > 0)
      .map(({ labels, count }): [MirrorResult, number] => [labels.result, count])
    return [
      {
        ...{ mirror: target.name, project: source.name, upstream },
        results: Object.fromEntries(results),
        limits: limits.inForce().filter(({ project }) => project === target.name),
      },
    ]
  })
}

/** Converts monotonic times to milliseconds since 1970, by adding `offset`. */
function describeUpstreams(
  { upstreams, refusedEncodings }: Pick<Forwarding, 'upstreams' | 'refusedEncodings'>,
  encoding: StatusConfig['upstreamEncoding'],
  offset: number,
): UpstreamState[] {
  const toDate = (time: number) => Math.round(time + offset)
  return upstreams
    .state()
    .map(
      ({ origin, cspReports, breaker: { open, since, nextProbe }, refusals, lastError, hasResponded }) => ({
        ...{ origin, has_responded: hasResponded },
        ...(cspReports && { csp_reports: cspReports }),
        ...(encoding !== 'off' && {
          compression: { encoding, is_refused: refusedEncodings.has(origin, encoding) },
        }),
        breaker: { since: toDate(since), ...(open ? { open, next_probe: toDate(nextProbe) } : { open }) },
        refusals: refusals.map(({ project, refusal: { status, message, count, first, last }, networks }) => ({
          ...{ project: project.name, status, message, count, first: toDate(first), last: toDate(last) },
          ...(networks !== undefined && { is_decline: true, networks }),
        })),
        ...(lastError && {
          last_error: { ...lastError, first: toDate(lastError.first), last: toDate(lastError.last) },
        }),
      }),
    )
}

function listRefusals(
  { upstreams, refusedEncodings }: Forwarding,
  encoding: StatusConfig['upstreamEncoding'],
): string[] {
  if (encoding === 'off') return []
  const refusing = upstreams.state().filter(({ origin }) => refusedEncodings.has(origin, encoding))
  return refusing.map(
    ({ origin }) =>
      `${origin} does not accept ${encoding}, so it gets envelopes uncompressed. Set UPSTREAM_ENCODING to off.`,
  )
}

/** Largest storms that are listed. */
const MAX_STORMS = 20

function describePolicies({
  config: { scrub, storm },
  projects,
  storms,
  quotas,
  writtenRules,
}: StatusDeps): PolicyStatus {
  const names = projects.all.map(({ name }) => name)
  return {
    ...(scrub && { scrub: { level: scrub.level, mode: scrub.mode } }),
    ...(storms &&
      storm.limit > 0 && {
        storm: { limit: storm.limit, mode: storm.mode, storms: storms.active().slice(0, MAX_STORMS) },
      }),
    ...(quotas && { quota: { mode: quotas.mode, quotas: quotas.describe(names) } }),
    rules: writtenRules,
  }
}
