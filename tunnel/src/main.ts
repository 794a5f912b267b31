/** Start the tunnel, and stop it without losing an envelope. */

import { mkdirSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { createAdaptorServer } from '@hono/node-server'
import closeWithGrace from 'close-with-grace'
import manifest from '../package.json' with { type: 'json' }
import { createAdmin } from './admin.ts'
import { createApp } from './app.ts'
import { createBodies, removeLeftBehind } from './body.ts'
import { createClientReports } from './client-reports.ts'
import { createEdge } from './edge.ts'
import { createEnds } from './ends.ts'
import { createFilters } from './filters.ts'
import { INBOX_BOUNDS, openInbox } from './inbox.ts'
import { createIntake } from './intake.ts'
import { createLimits } from './limits.ts'
import { createLog } from './log.ts'
import { createMetrics } from './metrics.ts'
import { createProjects } from './projects.ts'
import { createReceipts } from './receipts.ts'
import { readConfigOrExit } from './refusal-to-start.ts'
import { listen, nameReplica, ownAddress, stopNow, stopTaking } from './server.ts'
import { describeStatus } from './status.ts'
import { createThrottle } from './throttle.ts'
import { postReport } from './upstream.ts'
import { openWayToSentry } from './way-to-sentry.ts'

const SHARE_BYTES = 16 * 1024 * 1024 // what one body may hold in memory
const REPORT_MS = 30_000
const FINISH_MS = 9_000 // for what is in hand; it is answered within 2 s, or is a body that does not end
const DELIVER_MS = 3_000 // for deliveries under way
const STOP_MS = 15_000 // shorter than compose's stop_grace_period

process.umask(0o077) // what lies on disk are reports of errors and visitors' addresses
const config = readConfigOrExit(process.env)
const replica = nameReplica()
const now = Date.now
const clock = () => performance.now()
const since = now()
let stopping = false

mkdirSync(config.bodyDir, { recursive: true })
await removeLeftBehind(config.bodyDir, now())
const log = createLog(config.logLevel)
const edge = createEdge(config.edge)
const projects = createProjects(config.dsns)
const bodies = createBodies({
  maxBytes: config.maxEnvelopeBytes,
  memoryBytes: config.memoryBytes,
  shareBytes: SHARE_BYTES,
  dir: config.bodyDir,
  timeoutMs: config.bodyMs,
})
const filters = createFilters(config.filters)
const limits = createLimits(now)
const throttle = createThrottle(config.throttle, clock)
const sentry = config.forward
  ? await openWayToSentry({
      config,
      projects,
      limits,
      clock,
      now,
      onNotice: (notice) => log.logger.warn(notice),
    })
  : undefined
const reports = createClientReports(sentry ? postReport(sentry.upstreams) : async () => true, now)
const inbox = config.inboxFile ? openInbox(config.inboxFile, INBOX_BOUNDS, now) : undefined
const metrics = createMetrics({
  inFlight: () => intake.inFlight(),
  bodyBytes: bodies.inMemory,
  limits: limits.inForce,
  upstreams: () => sentry?.upstreams.state() ?? [],
  spool: sentry?.spool,
  now,
})
const receipts = createReceipts(metrics, log.logger, now)
const intake = createIntake({
  ...{
    edge,
    projects,
    bodies,
    filters,
    limits,
    throttle,
    reports,
    sentry,
    inbox,
    receipts,
    replica,
    now,
    clock,
  },
  allowedOrigins: config.allowedOrigins,
  reader: { headerBytes: config.headerBytes, items: config.items, keep: filters.reads },
  maxBytes: config.maxEnvelopeBytes,
  onBug: (err, requestId) => log.logger.error({ err, requestId }, 'a bug'),
})
const app = createApp({ ...config, intake, edge, projects })
const admin = createAdmin({
  metrics,
  inbox,
  receipts,
  replica,
  logger: log.logger,
  token: config.adminToken,
  isReady: () => publicServer.listening && !stopping,
  status: () =>
    describeStatus({
      config,
      version: manifest.version,
      replica,
      since,
      intake,
      limits,
      projects,
      throttle,
      sentry,
    }),
})
const publicServer = createAdaptorServer({ fetch: app.fetch })
const adminServer = createAdaptorServer({ fetch: admin.fetch })
const reporting = setInterval(() => void reports.flush(), REPORT_MS).unref()

closeWithGrace({ delay: STOP_MS, logger: false }, async ({ err }) => {
  stopping = true
  if (err) log.logger.fatal({ err }, 'stopping after an error')
  await stopTaking(publicServer, FINISH_MS)
  clearInterval(reporting)
  await Promise.race([sentry?.deliverer.stop(), wait(DELIVER_MS)]) // what is not delivered by then stays in the spool
  await reports.flush()
  await sentry?.upstreams.close()
  await sentry?.spool.close()
  inbox?.close()
  await stopNow(adminServer)
  log.logger.info('stopped')
  await log.close()
})

await listen(adminServer, await ownAddress(config.adminHost), config.adminPort)
sentry?.deliverer.start({
  onEnd: createEnds({ projects, receipts, reports, replica, now }),
  onFault: (err) => log.logger.error({ err }, 'the spool failed'),
})
await listen(publicServer, config.host, config.port)
log.logger.info(
  { replica, port: config.port, adminPort: config.adminPort, forward: config.forward },
  'listening',
)
