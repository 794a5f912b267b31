/** Composition root: creates every service of a tunnel from its settings. */

import manifest from '../package.json' with { type: 'json' }
import type { Alerts } from './admin/alerts/alerts.ts'
import { DoctorFindings } from './admin/doctor-findings.ts'
import { SituationMonitor } from './admin/situation/situation-monitor.ts'
import { describeForwarding } from './admin/status.ts'
import type { Config } from './config/config.ts'
import { orExit } from './config/startup-errors.ts'
import { Bodies, prepareFolder } from './envelope/body/bodies.ts'
import { MemoryBudget } from './envelope/body/memory-budget.ts'
import { DEFAULT_HEADER_LIMITS, MAX_ITEMS } from './envelope/headers.ts'
import { createForwarding, type Forwarding } from './forward/forwarding.ts'
import { InboxUpstream, SimulatedOutage } from './forward/inbox-upstream.ts'
import { UpstreamLimits } from './forward/limits/upstream-limits.ts'
import type { Mirrors } from './forward/mirrors.ts'
import type { SpoolHealth } from './forward/monitored-spool.ts'
import { describeSpool, withoutMirrors } from './forward/spool-status.ts'
import { type BreakerChange, postReport } from './forward/upstream/upstream-client.ts'
import { type ClientResolver, createClientResolver } from './http/client-address.ts'
import { Ingest } from './http/ingest.ts'
import { tunnelPathsOf } from './http/public-app.ts'
import { OpenBodies } from './http/receive.ts'
import { nameReplica } from './http/server.ts'
import { Counters } from './observe/counters.ts'
import { FaultLog } from './observe/fault-log.ts'
import { History } from './observe/history.ts'
import { Log, type LogOutput } from './observe/log.ts'
import { Metrics } from './observe/metrics.ts'
import { Receipts } from './observe/receipts.ts'
import { RejectionSamples } from './observe/rejection-samples.ts'
import { SdkInventory } from './observe/sdk-inventory.ts'
import { ClientReports } from './pipeline/client-reports.ts'
import { createProjects, type Projects } from './pipeline/projects.ts'
import { ProxyFaults } from './policy/proxy-detection.ts'
import { openPolicies, type PolicyServices } from './policy-services.ts'
import { readSdk, type Sdk } from './sdk/sdk.ts'
import { SharedBundles } from './sdk/shared-bundles.ts'
import { type OpenStoreDeps, openStore } from './store/open-store.ts'

export type Services = PolicyServices & {
  config: Config
  replica: string
  /** Milliseconds since 1970, and a monotonic clock in milliseconds. */
  now: () => number
  clock: () => number
  log: Log
  resolveClient: ClientResolver
  proxyFaults: ProxyFaults
  projects: Projects
  bodies: Bodies
  limits: UpstreamLimits
  forwarding: Forwarding
  /** Absent with a Sentry: only the inbox simulates an outage. */
  outage: SimulatedOutage | undefined
  reports: ClientReports
  counters: Counters
  metrics: Metrics
  history: History
  receipts: Receipts
  rejectionSamples: RejectionSamples
  sdkInventory: SdkInventory
  doctorFindings: DoctorFindings
  situation: SituationMonitor
  /** Absent: there is no destination. */
  alerts: Alerts | undefined
  ingest: Ingest
  /** Absent: it has not been built. */
  sdk: Sdk | undefined
  sharedBundles: SharedBundles | undefined
}

const SHARE_BYTES = 16 * 1024 * 1024 // memory of one body
const SPARE_BYTES = 8 * 1024 * 1024 // for copies on their way into the spool

/** Clocks, log output, the folder of the SDK and the thread of the spool's file, which tests replace. */
type Surroundings = Partial<
  Pick<Services, 'now' | 'clock'> & {
    logOutput: LogOutput
    sdkFolder: string
  }
> &
  Pick<OpenStoreDeps, 'openSpoolFile'>

const PROJECT_SHARE = 0.5

/** Opens all services. Exits with a message when a folder, file or server of a setting cannot be used. */
export async function openServices(
  config: Config,
  { now = Date.now, clock = () => performance.now(), logOutput, sdkFolder, openSpoolFile }: Surroundings = {},
): Promise<Services> {
  const replica = nameReplica()
  await openBodyDirOrExit(config, now())
  const log = new Log(config.logLevel, logOutput)
  const projects = createProjects(config.dsns, config.mirrors)
  const limits = new UpstreamLimits(now)
  const memory = new MemoryBudget(config.memoryBytes, SPARE_BYTES)
  const base: Base = { config, replica, now, clock, log, projects, limits, memory }
  const bodies = createBodies(base)
  const isRefusing = async () => (await outage?.isOn()) === true
  const forwarding = await openForwarding(base, bodies, isRefusing, openSpoolFile)
  const outage = config.forward ? undefined : createOutage(base, forwarding)
  const counters = new Counters(projects, now)
  const history = createHistory(base, forwarding, counters)
  const reports = new ClientReports(postReport(forwarding.upstreams), now)
  const { state } = forwarding.spool.store
  const policies = await openPolicies({ config, counters, replica, state, log, now, clock })
  const situation = createSituation(base, forwarding, counters, history, policies)
  const services: Opened = {
    ...base,
    ...policies,
    bodies,
    resolveClient: createClientResolver(config.edge, config.trustedProxies),
    proxyFaults: new ProxyFaults(clock),
    forwarding,
    mirrors: await openMirrors(base, bodies, forwarding, counters, reports),
    outage,
    reports,
    counters,
    history,
    receipts: new Receipts(counters, log, now),
    rejectionSamples: new RejectionSamples(now),
    sdkInventory: new SdkInventory(projects),
    doctorFindings: new DoctorFindings(now),
    situation,
    alerts: await openAlerts(base, forwarding, situation),
  }
  const ingest = createIngest(services)
  const metrics = createMetrics(services, ingest)
  const sdk = readSdkOrLog(log, () => readSdk(config.sdk, config.tunnelPaths[0] ?? '', sdkFolder))
  return { ...services, ingest, metrics, sdk, sharedBundles: sdk && shareBundles(sdk, services) }
}

/** Services that most others need. */
type Base = Pick<Services, 'config' | 'replica' | 'now' | 'clock' | 'log' | 'projects' | 'limits'> & {
  memory: MemoryBudget
}

function createBodies({ config, memory, log }: Base): Bodies {
  const { maxEnvelopeBytes: maxBytes, bodyDir: dir, bodyMs: timeoutMs } = config
  let isLogged = false
  function onFileFault(err: unknown): void {
    if (!isLogged)
      log.logger.warn({ err }, 'a file in BODY_DIR cannot be removed; further ones are not logged')
    isLogged = true
  }
  return new Bodies({ maxBytes, shareBytes: SHARE_BYTES, dir, timeoutMs, onFileFault }, memory)
}

async function openForwarding(
  { config, projects, limits, memory, log, now, clock }: Base,
  bodies: Bodies,
  isRefusing: () => Promise<boolean>,
  openSpoolFile: OpenStoreDeps['openSpoolFile'],
): Promise<Forwarding> {
  const projectShare = projects.destinations.length > 1 ? PROJECT_SHARE : 1
  const onNotice = (notice: string) => log.logger.warn(notice)
  const store = await orExit(
    'SPOOL_URL: the spool cannot be opened; look at the disk or the server it names',
    () => openStore(config.spool, { kept: config.keep, projectShare, now, onNotice, openSpoolFile }),
  )
  return createForwarding({
    config,
    store,
    projectShare,
    projects,
    limits,
    memory,
    bodies,
    clock,
    now,
    onNotice,
    onBreakerChange: (change) => logBreakerChange(log, change),
    onHealthChange: (health) => logHealthChange(log, health),
    openTransport: config.forward ? undefined : () => new InboxUpstream(isRefusing),
  })
}

function createOutage({ now }: Base, { spool }: Forwarding): SimulatedOutage {
  return new SimulatedOutage({
    state: spool.store.state,
    pending: async () => (await spool.totals()).envelopes,
    stored: async (span) => spool.store.summaries?.countArrived(span) ?? 0,
    now,
  })
}

function createHistory({ replica, log, now }: Base, { spool }: Forwarding, counters: Counters): History {
  const { store } = spool
  return new History({
    store: store.state.snapshots,
    counters,
    pending: async () => withoutMirrors(await spool.totals()),
    replica,
    logger: log.logger,
    now,
  })
}

function createSituation(
  { config, replica, limits, projects, now, clock }: Base,
  forwarding: Forwarding,
  counters: Counters,
  history: History,
  { storms }: PolicyServices,
): SituationMonitor {
  const deps = { config, limits, projects, counters, forwarding, now, clock }
  return new SituationMonitor({
    state: forwarding.spool.store.state,
    replica,
    describe: () => describeForwarding(deps),
    storms: () => (storms?.active() ?? []).map((each) => ({ ...each, mode: config.storm.mode })),
    history,
    silenceMs: config.silenceMs,
    deployment: config.deployment,
    now,
  })
}

/** Services that are open before the pipeline is. */
type Opened = Omit<Services, 'ingest' | 'metrics' | 'sdk' | 'sharedBundles'> &
  Base & { mirrors: Mirrors | undefined }

function createIngest(services: Opened): Ingest {
  const { config, log, clock, projects, readsPayload: keep } = services
  const keepFaults = new FaultLog(log.logger, clock)
  return new Ingest({
    ...services,
    openBodies: new OpenBodies(),
    keeping: config.keep?.keeping,
    keptBytes: config.keep?.bytes ?? 0,
    onKeepFault: (error) => keepFaults.fault(error),
    allowedOrigins: config.allowedOrigins,
    clientAddress: config.clientAddress,
    upstreamEncoding: config.upstreamEncoding,
    reader: { ...DEFAULT_HEADER_LIMITS, items: MAX_ITEMS, keep, keptBytes: config.keptBytes },
    itemSizes: config.itemSizes,
    maxBytes: config.maxEnvelopeBytes,
    browserReports: config.browserReports,
    tunnelPaths: tunnelPathsOf({ ...config, projects }),
    onBug: (err, requestId) => log.logger.error({ err, requestId }, 'a bug'),
  })
}

function createMetrics(services: Opened, ingest: Ingest): Metrics {
  const { config, projects, limits, memory, forwarding, counters, storms, quotas, situation, now } = services
  const names = projects.all.map(({ name }) => name)
  return new Metrics({
    counters,
    build: { version: manifest.version, revision: config.revision },
    inFlight: () => ingest.inFlight(),
    bodyBytes: () => memory.usedBytes(),
    limits: () => limits.inForce(),
    upstreams: () => (config.forward ? forwarding.upstreams.state() : []),
    spool: () => describeSpool(forwarding, projects, config.spool.ageMs),
    quotas: () => quotas?.describe(names) ?? [],
    storms: () => storms?.active() ?? [],
    problems: () => situation.kinds(),
    projects,
    now,
  })
}

/** Loads the mirrors where there are any. */
async function openMirrors(
  { config, projects }: Base,
  bodies: Bodies,
  forwarding: Forwarding,
  counters: Counters,
  reports: ClientReports,
): Promise<Mirrors | undefined> {
  if (config.mirrors.length === 0) return undefined
  const { Mirrors } = await import('./forward/mirrors.ts')
  const { lateMs } = config.upstream
  return new Mirrors({ projects, forwarding, bodies, counters, reports, lateMs })
}

/** Loads alerts where there is a destination. */
async function openAlerts(
  { config, replica, log, now }: Base,
  { spool }: Forwarding,
  situation: SituationMonitor,
): Promise<Alerts | undefined> {
  const { targets, heartbeat } = config.alerts
  if (targets.length === 0 && !heartbeat) return undefined
  const [{ Alerts }, { Senders }] = await Promise.all([
    import('./admin/alerts/alerts.ts'),
    import('./admin/alerts/senders.ts'),
  ])
  const { logger } = log
  const senders = new Senders(config.upstream.proxies)
  const { state } = spool.store
  return new Alerts({ targets, heartbeat, senders, state, replica, situation, logger, now })
}

const BUNDLE_FAILURES = {
  read: 'the bundles of other releases of the SDK cannot be read',
  write: 'the bundles of the SDK cannot be shared with other releases',
}

/** Without a shared store, pages get the bundles of this release only. */
function shareBundles(
  sdk: Sdk,
  { now, log, forwarding }: Pick<Services, 'now' | 'log' | 'forwarding'>,
): SharedBundles {
  return new SharedBundles({
    own: sdk.bundles(),
    store: forwarding.spool.store.state.bundles,
    now,
    onFailure: (err, operation) => log.logger.warn({ err }, BUNDLE_FAILURES[operation]),
  })
}

/** Damaged files of the SDK must not stop the tunnel. */
function readSdkOrLog({ logger }: Log, read: () => Sdk | undefined): Sdk | undefined {
  try {
    return read()
  } catch (err) {
    logger.error({ err }, 'the SDK cannot be read, sdk.js responds with 503; run npm run build:sdk')
    return undefined
  }
}

function openBodyDirOrExit({ bodyDir }: Config, time: number): Promise<void> {
  return orExit(`BODY_DIR: "${bodyDir}" cannot be written to; write a folder on a disk`, () =>
    prepareFolder(bodyDir, time),
  )
}

/** The log has no line for each failed attempt, but one when the breaker opens and one when it closes. */
function logBreakerChange({ logger }: Log, { upstream, isOpen, error }: BreakerChange): void {
  const { class: errorClass = 'late', code, status, count } = error ?? {}
  const details = { upstream, error: { class: errorClass, code, status, count } }
  if (isOpen) logger.warn(details, 'circuit breaker opened')
  else logger.info(details, 'circuit breaker closed')
}

/** The log has no line for each failed put, but one when puts begin to fail and one when they succeed again. */
function logHealthChange({ logger }: Log, { writable, problem }: SpoolHealth): void {
  if (writable) logger.info('the spool accepts envelopes again')
  else logger.error({ problem }, 'the spool accepts no envelopes')
}
