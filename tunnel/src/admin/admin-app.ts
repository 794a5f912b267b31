/** Admin port: health, metrics, status, live feed, inbox and spool. */

import { createHash, timingSafeEqual } from 'node:crypto'
import type { ProjectActivity, Rejections, ReplicaStatus } from 'contract/admin-api'
import type { AlertTest } from 'contract/alerts'
import type { ScrubExample } from 'contract/policies'
import { type Context, Hono, type Next } from 'hono'
import type { Logger } from 'pino'
import type { ResendJobs } from '../forward/delivery/resend-job.ts'
import type { Forwarding } from '../forward/forwarding.ts'
import type { SimulatedOutage } from '../forward/inbox-upstream.ts'
import type { Counters } from '../observe/counters.ts'
import { Feed } from '../observe/feed.ts'
import type { History } from '../observe/history.ts'
import { LOG_LEVELS } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Receipts } from '../observe/receipts.ts'
import type { RejectionSamples } from '../observe/rejection-samples.ts'
import type { SdkInventory } from '../observe/sdk-inventory.ts'
import type { AllowedHosts } from '../pipeline/hosts.ts'
import type { Projects } from '../pipeline/projects.ts'
import type { OnFinalOutcome } from '../pipeline/spool.ts'
import type { ScrubSettings } from '../policy/scrub/scrub.ts'
import type { Alerts } from './alerts/alerts.ts'
import { AuditLog } from './audit-log.ts'
import type { DoctorFindings } from './doctor-findings.ts'
import { readFigures } from './figures-query.ts'
import { createInboxAdmin } from './inbox-routes.ts'
import type { PolicyExampleDeps, PolicyExamples } from './policy-example.ts'
import { trafficByProject } from './project-traffic.ts'
import { createHandler, RequestError } from './responses.ts'
import { sessionRoutes } from './sessions-routes.ts'
import { createStoreAdmin, type StoreAdminDeps } from './store-routes.ts'

type AdminDeps = {
  config: { scrub: ScrubSettings | undefined }
  metrics: Metrics
  counters: Counters
  history: History
  /** Absent with a Sentry. */
  outage: SimulatedOutage | undefined
  forwarding: Forwarding
  jobs: ResendJobs
  projects: Projects
  onFinalOutcome: OnFinalOutcome
  /** Bounds of header lines and items. */
  reader: StoreAdminDeps['limits']
  receipts: Receipts
  rejectionSamples: RejectionSamples
  sdkInventory: SdkInventory
  /** Names by which the port may be reached. */
  allowedHosts: AllowedHosts
  /** Settings that would have accepted an envelope, by reason. */
  remedies: Rejections['settings']
  replica: string
  logger: Logger
  status: () => Promise<Omit<ReplicaStatus, 'actions'>>
  doctorFindings: DoctorFindings
  /** Absent: there is no destination. */
  alerts: Alerts | undefined
  /** Milliseconds since 1970. */
  now: () => number
  /** `undefined` closes everything that needs a token. */
  token: string | undefined
  /** Listening and not stopping; neither a dead Sentry nor a full disk makes a replica unready. */
  isReady: () => boolean
}

export function createAdmin(deps: AdminDeps): Hono {
  const { forwarding, jobs, projects, onFinalOutcome, receipts, replica, logger } = deps
  const app = new Hono()
  const feed = new Feed(receipts, replica)
  const auditLog = new AuditLog(logger, replica, deps.now)
  const readExample = createExampleReader({ ...deps.config, spool: forwarding.spool.store, auditLog })
  app.use('*', requireHost(deps.allowedHosts))
  app.get('/livez', (c) => c.text('ok'))
  app.get('/readyz', (c) => (deps.isReady() ? c.text('ok') : c.text('stopping', 503)))
  app.get('/metrics', async (c) =>
    c.body(await deps.metrics.expose(), 200, { 'content-type': 'text/plain; version=0.0.4' }),
  )
  app.use('*', requireToken(deps.token))
  app.get('/status', async (c) =>
    c.json({ ...(await deps.status()), actions: auditLog.actions() } satisfies ReplicaStatus),
  )
  app.get('/figures', createHandler({ run: (c) => readFigures(c, deps) }))
  app.get('/receipts', (c) => feed.stream(c))
  app.get('/receipts/:token', (c) => findReceipt(c, receipts))
  app.get('/rejections', (c) => c.json(describeRejections(deps)))
  app.get('/projects', (c) => c.json({ projects: describeProjects(deps) }))
  app.get('/policies/example', createHandler({ run: readExample }))
  app.put('/log-level', createHandler({ query: ['level'], run: (c) => setLogLevel(c, logger) }))
  app.put('/doctor-findings', createHandler({ run: (c) => deps.doctorFindings.replace(c) }))
  app.post('/alerts/test', createHandler({ run: (c) => testAlerts(c, deps.alerts, auditLog) }))
  app.route('/sessions', sessionRoutes({ state: forwarding.spool.store.state, now: deps.now }))
  const { store: spool } = forwarding.spool
  app.route('/inbox', createInboxAdmin(spool, deps.outage, auditLog))
  const limits = deps.reader
  app.route('/', createStoreAdmin({ spool, projects, jobs, receipts, auditLog, onFinalOutcome, limits }))
  app.all('*', (c) => c.json({ detail: 'There is nothing at this path.' }, 404))
  return app
}

/** Returns the action that reads an example. It loads scrubbing, which is optional. */
function createExampleReader({
  scrub,
  ...deps
}: Omit<PolicyExampleDeps, 'scrub'> & { scrub: ScrubSettings | undefined }) {
  let examples: PolicyExamples | undefined
  return async function readExample(c: Context): Promise<ScrubExample> {
    if (scrub?.mode !== 'observe')
      throw new RequestError(404, 'Scrubbing does not observe. Set SCRUB to default observe.')
    const { PolicyExamples } = await import('./policy-example.ts')
    examples ??= new PolicyExamples({ ...deps, scrub })
    return examples.read(c)
  }
}

/** Refuses requests of pages whose name suddenly leads to this machine (DNS rebinding). */
function requireHost(allowed: AllowedHosts) {
  return async function checkHost(c: Context, next: Next) {
    if (allowed.has(c.req.header('host'))) return next()
    const detail = 'This port is for this machine. Name it localhost, or add the host name to ALLOWED_HOSTS.'
    return c.json({ detail }, 403)
  }
}

/** Requires `Authorization: Bearer` with the token, for reading too. */
function requireToken(token: string | undefined) {
  return async function checkToken(c: Context, next: Next) {
    if (!token)
      return c.json(
        { detail: 'This port is closed: no token is configured. Set OPERATOR_PASSWORD or ADMIN_TOKEN.' },
        403,
      )
    const given = c.req.header('authorization') ?? ''
    if (!timingSafeEqual(digest(given), digest(`Bearer ${token}`)))
      return c.json({ detail: 'This needs the admin token: send Authorization: Bearer with it.' }, 401)
    return next()
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function findReceipt(c: Context, receipts: Receipts): Response {
  const receipt = receipts.find(c.req.param('token') ?? '')
  if (receipt) return c.json(receipt)
  const detail =
    'This replica has no receipt with this token. Only the replica that responded has it, for at most 10 minutes, and only among its last 16 MiB of receipts.'
  return c.json({ detail }, 404)
}

function describeRejections({ rejectionSamples, counters, remedies }: AdminDeps): Rejections {
  return { rejections: rejectionSamples.all(), times: counters.times(), settings: remedies }
}

function describeProjects({ counters, sdkInventory }: AdminDeps): ProjectActivity[] {
  const trafficOf = trafficByProject(counters)
  return sdkInventory.all().map((sdks) => ({ ...sdks, ...trafficOf(sdks.project) }))
}

/** Sends a test to each destination of alerts, and responds with the results. */
async function testAlerts(c: Context, alerts: Alerts | undefined, auditLog: AuditLog): Promise<AlertTest> {
  const results = (await alerts?.test()) ?? []
  if (results.length === 0) throw new RequestError(404, 'There is no destination of alerts. Set ALERT_URL.')
  auditLog.record(c, 'alerts-test', { destinations: results.length })
  return { results }
}

/** Sets the log level until the process ends; the next start reads LOG_LEVEL again. */
function setLogLevel(c: Context, logger: Logger): object {
  const level = LOG_LEVELS.find((known) => known === c.req.query('level'))
  if (!level)
    throw new RequestError(400, `Name a level: PUT /log-level?level= with one of ${LOG_LEVELS.join(', ')}.`)
  logger.level = level
  return { level }
}
