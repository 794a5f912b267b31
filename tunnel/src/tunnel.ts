/** Tunnel: public port, admin port and graceful stop. */

import type { Server } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { createAdaptorServer, type ServerType } from '@hono/node-server'
import manifest from '../package.json' with { type: 'json' }
import { createAdmin } from './admin/admin-app.ts'
import { findRemedies } from './admin/remedies.ts'
import { describeStatus } from './admin/status.ts'
import type { Config } from './config/config.ts'
import { orExit } from './config/startup-errors.ts'
import { DEFAULT_HEADER_LIMITS, MAX_ITEMS } from './envelope/headers.ts'
import { ResendJobs } from './forward/delivery/resend-job.ts'
import { createApp, createBasePathRemover, servedPaths } from './http/public-app.ts'
import { createPublicServer, publicServerOptions } from './http/public-server.ts'
import { listen, ownAddress, stopNow, stopTaking } from './http/server.ts'
import { FaultLog } from './observe/fault-log.ts'
import { createFinalOutcomes } from './observe/final-outcomes.ts'
import { AllowedHosts, isLoopback } from './pipeline/hosts.ts'
import { isMirrorKey } from './pipeline/projects.ts'
import type { Services } from './services.ts'

export type Ports = { port: number; adminPort: number }

export type Tunnel = {
  /** Opens both ports, and returns them. Exits with a message when a port cannot be used. */
  start(): Promise<Ports>
  /** Stops accepting requests, finishes pending ones, and leaves the rest to the spool. */
  stop(): Promise<void>
}

const REPORT_MS = 30_000
const WARNING_MS = 60_000
const FINISH_MS = 9_000 // for pending requests; they end within 2 s, except bodies that never end
const DELIVER_MS = 3_000 // for pending delivery attempts
const HISTORY_MS = 500 // for the minute in progress, and the use of quotas
const LAST_MS = 1_000 // for the last client report, and again for releasing leases

export function createTunnel(services: Services): Tunnel {
  const { config, replica, now, log, forwarding, history, quotaSharing, reports, ingest } = services
  const since = now()
  const onFinalOutcome = createFinalOutcomes(services)
  const faults = new FaultLog(log.logger, services.clock)
  const jobs = createResendJobs(services, (error) => faults.fault(error))
  const admin = createAdmin({
    ...services,
    ...{ onFinalOutcome, jobs },
    remedies: findRemedies(config),
    reader: { ...DEFAULT_HEADER_LIMITS, items: MAX_ITEMS },
    logger: log.logger,
    token: config.adminToken,
    allowedHosts: new AllowedHosts(isLoopback(config.adminHost) ? ['localhost', ...config.allowedHosts] : []),
    isReady: () => publicServer.listening && !stopping,
    status: () => describeStatus({ ...services, version: manifest.version, since }),
  })
  const publicServer = createEnvelopeServer(services)
  const adminServer = createAdaptorServer({ fetch: admin.fetch })
  let reporting: NodeJS.Timeout | undefined
  let stopping = false
  return { start, stop }

  async function start(): Promise<Ports> {
    const adminPort = await openAdminPort(adminServer, config)
    forwarding.limitSharing.start()
    await Promise.all([quotaSharing?.start(), services.sharedBundles?.start()])
    forwarding.deliverer.start({
      onFinalOutcome,
      onError: (err) => faults.fault(err),
      onSettled: () => faults.success(),
    })
    jobs.start()
    history.start()
    services.situation.start()
    services.alerts?.start()
    reporting = setInterval(() => void reports.flush(), REPORT_MS).unref()
    const port = await openPublicPort(publicServer, config)
    log.logger.info({ replica, port, adminPort, forward: config.forward }, 'listening')
    return { port, adminPort }
  }

  async function stop(): Promise<void> {
    stopping = true
    await stopTaking(publicServer, FINISH_MS)
    await ingest.idle() // aborted requests are recorded a moment later
    clearInterval(reporting)
    const delivered = Promise.all([jobs.stop(), forwarding.deliverer.stop()])
    await Promise.race([delivered, wait(DELIVER_MS)])
    await Promise.race([reports.flush(), wait(LAST_MS)])
    await forwarding.upstreams.close() // pending attempts are aborted; their entries stay in the spool
    await Promise.race([delivered, wait(LAST_MS)])
    forwarding.limitSharing.stop()
    services.sharedBundles?.stop()
    await Promise.race([
      Promise.all([
        ...[history.stop(), quotaSharing?.stop()],
        ...[services.situation.stop(), services.alerts?.stop()],
      ]),
      wait(HISTORY_MS),
    ])
    await forwarding.spool.close()
    await stopNow(adminServer)
    log.logger.info('stopped')
    await log.close()
  }
}

function createResendJobs(services: Services, onError: (error: unknown) => void): ResendJobs {
  const { forwarding, projects, counters } = services
  const { deliverer } = forwarding
  return new ResendJobs({
    ...services,
    ...{ spool: forwarding.spool.store, deliverer, onError },
    deliveredLive: () => counters.upstreams.all.reduce((sum, { delivered }) => sum + delivered, 0),
    onResent({ project: key }) {
      if (isMirrorKey(key)) return // it has no final outcome of its own
      const project = projects.destinationOf(key)
      counters.countResent(project?.name ?? 'unknown')
    },
  })
}

function openAdminPort(server: ServerType, { adminHost, adminPort }: Config): Promise<number> {
  return orExit(`ADMIN_PORT: ${adminPort} cannot be listened at; write one that is free`, async () =>
    listen(server, await ownAddress(adminHost), adminPort),
  )
}

function openPublicPort(server: Server, { host, port }: Config): Promise<number> {
  return orExit(
    `PORT: ${port} cannot be listened at; write one that is free, and in HOST an address of this machine`,
    () => listen(server, host, port),
  )
}

function createEnvelopeServer(services: Services): Server {
  const { config } = services
  const app = createApp({ ...config, ...services })
  const envelopePaths = new Set(servedPaths({ ...config, ...services }))
  const withoutBasePath = createBasePathRemover({ ...config, ...services })
  const onFull = createConnectionWarning(services)
  const allowedHosts = new AllowedHosts(config.allowedHosts)
  return createPublicServer(
    { ...services, app, allowedHosts, envelopePaths, withoutBasePath, onFull },
    publicServerOptions(config.bodyMs),
  )
}

/** Returns a function that logs a warning, at most once a minute. */
function createConnectionWarning({ log, clock }: Pick<Services, 'log' | 'clock'>): () => void {
  let warnedAt = Number.NEGATIVE_INFINITY
  return () => {
    if (clock() - warnedAt < WARNING_MS) return
    warnedAt = clock()
    log.logger.warn('too many connections: new ones are closed. Let a proxy in front limit them by address')
  }
}
