/** A tunnel: its two ports, and an end that loses nothing. */

import { setTimeout as wait } from 'node:timers/promises'
import { createAdaptorServer } from '@hono/node-server'
import manifest from '../package.json' with { type: 'json' }
import { createAdmin } from './admin/app.ts'
import { findRemedies } from './admin/remedies.ts'
import { describeStatus } from './admin/status.ts'
import { orExit } from './config/startup-errors.ts'
import { createApp } from './http/app.ts'
import { createPublicServer } from './http/public-server.ts'
import { listen, ownAddress, stopNow, stopTaking } from './http/server.ts'
import type { Services } from './services.ts'
import { createFinalOutcomes } from './spool/final-outcomes.ts'

export type Ports = { port: number; adminPort: number }

export type Tunnel = {
  /** Resolves with the ports it listens on. Ends the process, in words, where a port cannot be had. */
  start(): Promise<Ports>
  /** Takes nothing new, finishes what is in hand, and leaves the rest to the spool. */
  stop(): Promise<void>
}

const IDLE_MS = 75_000 // a proxy that holds a connection for a minute must not post on one that is being closed
const REPORT_MS = 30_000
const FINISH_MS = 9_000 // for what is in hand; it is answered within 2 s, or is a body that does not end
const DELIVER_MS = 3_000 // for deliveries under way
const LAST_MS = 1_000 // for the last report, and again for giving back what was not delivered by then

export function createTunnel(parts: Services): Tunnel {
  const { config, replica, now, log, sentry, inbox, reports, ingest } = parts
  const since = now()
  const app = createApp({ ...config, ...parts })
  const onFinalOutcome = createFinalOutcomes(parts)
  const admin = createAdmin({
    ...parts,
    onFinalOutcome,
    remedies: findRemedies(config),
    reader: { ...config.headers, items: config.items },
    logger: log.logger,
    token: config.adminToken,
    isReady: () => publicServer.listening && !stopping,
    status: () => describeStatus({ ...parts, version: manifest.version, since }),
  })
  const publicServer = createPublicServer(
    { app, resolveClient: parts.resolveClient },
    { keepAliveTimeout: IDLE_MS },
  )
  const adminServer = createAdaptorServer({ fetch: admin.fetch })
  let reporting: NodeJS.Timeout | undefined
  let stopping = false
  return { start, stop }

  async function start(): Promise<Ports> {
    const adminPort = await listenToOperators()
    sentry?.deliverer.start({
      onFinalOutcome,
      onError: (err) => log.logger.error({ err }, 'the spool failed'),
    })
    reporting = setInterval(() => void reports.flush(), REPORT_MS).unref()
    const port = await listenToBrowsers()
    log.logger.info({ replica, port, adminPort, forward: config.forward }, 'listening')
    return { port, adminPort }
  }

  function listenToOperators(): Promise<number> {
    return orExit(`ADMIN_PORT: ${config.adminPort} cannot be listened at; write one that is free`, async () =>
      listen(adminServer, await ownAddress(config.adminHost), config.adminPort),
    )
  }

  function listenToBrowsers(): Promise<number> {
    return orExit(
      `PORT: ${config.port} cannot be listened at; write one that is free, and in HOST an address of this machine`,
      () => listen(publicServer, config.host, config.port),
    )
  }

  async function stop(): Promise<void> {
    stopping = true
    await stopTaking(publicServer, FINISH_MS)
    await ingest.idle() // a connection that was cut is settled a moment later
    clearInterval(reporting)
    const delivered = sentry?.deliverer.stop()
    await Promise.race([delivered, wait(DELIVER_MS)])
    await Promise.race([reports.flush(), wait(LAST_MS)])
    await sentry?.upstreams.close() // what is still under way is cut off, and stays in the spool
    await Promise.race([delivered, wait(LAST_MS)])
    await sentry?.spool.close()
    inbox?.close()
    await stopNow(adminServer)
    log.logger.info('stopped')
    await log.close()
  }
}
