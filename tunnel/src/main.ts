/** Start the tunnel, and stop it without losing an envelope. */

import { mkdirSync } from 'node:fs'
import { createAdaptorServer } from '@hono/node-server'
import closeWithGrace from 'close-with-grace'
import { createAdmin } from './admin.ts'
import { createApp } from './app.ts'
import { createBodies } from './body.ts'
import { BadSettings, type Config, readConfig } from './config.ts'
import { createEdge } from './edge.ts'
import { INBOX_BOUNDS, openInbox } from './inbox.ts'
import { createIntake } from './intake.ts'
import { createLog } from './log.ts'
import { createMetrics } from './metrics.ts'
import { createProjects } from './projects.ts'
import { createReceipts } from './receipts.ts'
import { listen, nameReplica, ownAddress, stopTaking } from './server.ts'
import { createUpstreams } from './upstream.ts'

const MEMORY_BYTES = 64 * 1024 * 1024 // all bodies in hand
const SHARE_BYTES = 16 * 1024 * 1024 // one body
const BODY_MS = 60_000
const UPSTREAM = { connectMs: 1_000, answerMs: 10_000, connections: 64 }
const STOP_MS = 15_000 // shorter than compose's stop_grace_period

const config = configOrExit()
const replica = nameReplica()
const log = createLog(config.logLevel)
const now = Date.now
let stopping = false

mkdirSync(config.bodyDir, { recursive: true })
const bodies = createBodies({
  maxBytes: config.maxEnvelopeBytes,
  memoryBytes: MEMORY_BYTES,
  shareBytes: SHARE_BYTES,
  dir: config.bodyDir,
  timeoutMs: BODY_MS,
})
const metrics = createMetrics({ inFlight: () => intake.inFlight(), bodyBytes: bodies.inMemory })
const receipts = createReceipts(metrics, log.logger)
const edge = createEdge(config.edge)
const projects = createProjects(config.dsns)
const upstreams = config.forward ? createUpstreams(UPSTREAM) : undefined
const inbox = config.inboxFile ? openInbox(config.inboxFile, INBOX_BOUNDS, now) : undefined
const intake = createIntake({
  edge,
  projects,
  bodies,
  upstreams,
  inbox,
  receipts,
  allowedOrigins: config.allowedOrigins,
  maxBytes: config.maxEnvelopeBytes,
  replica,
  now,
  clock: () => performance.now(),
  onBug: (err, requestId) => log.logger.error({ err, requestId }, 'a bug'),
})
const app = createApp({ ...config, intake, edge, projects })
const admin = createAdmin({ metrics, inbox, token: config.adminToken, isReady: () => !stopping })
const publicServer = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: true })
const adminServer = createAdaptorServer({ fetch: admin.fetch, overrideGlobalObjects: true })

closeWithGrace({ delay: STOP_MS, logger: false }, async ({ err }) => {
  stopping = true
  if (err) log.logger.fatal({ err }, 'stopping after an error')
  await stopTaking(publicServer)
  await upstreams?.close()
  inbox?.close()
  await stopTaking(adminServer)
  log.logger.info('stopped')
  await log.close()
})

await listen(adminServer, await ownAddress(config.adminHost), config.adminPort)
await listen(publicServer, config.host, config.port)
log.logger.info(
  { replica, port: config.port, adminPort: config.adminPort, forward: config.forward },
  'listening',
)

function configOrExit(): Config {
  try {
    return readConfig(process.env)
  } catch (error) {
    if (!(error instanceof BadSettings)) throw error
    const { problems } = error
    process.stderr.write(
      `culvert tunnel: cannot start, ${problems.length} problem(s):\n${problems.join('\n')}\n`,
    )
    process.exit(1)
  }
}
