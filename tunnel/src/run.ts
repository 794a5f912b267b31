/** Runs a tunnel until a signal or an error stops it. */

import closeWithGrace from 'close-with-grace'
import { trustCertificates } from 'contract/certificates'
import type { Environment } from 'contract/settings'
import { findUnknown } from 'contract/unknown-settings'
import { readConfigOrExit } from './config/startup-errors.ts'
import { openServices, type Services } from './services.ts'
import { createTunnel } from './tunnel.ts'

const STOP_MS = 15_000 // shorter than Compose's stop_grace_period

/** Starts a tunnel, and returns its parts. */
export async function run(env: Environment): Promise<Services> {
  process.umask(0o077) // files hold error reports and client addresses
  const config = readConfigOrExit(env)
  if (config.caFile) trustCertificates(config.caFile)
  const services = await openServices(config)
  for (const sentence of findUnknown(env)) services.log.logger.warn(sentence)
  const tunnel = createTunnel(services)
  const { logger } = services.log
  const settings = { delay: STOP_MS, logger: false, onSecondSignal, onSecondError, onTimeout } as const
  closeWithGrace(settings, async ({ err }) => {
    if (err) logger.fatal({ err }, 'stopping after an error')
    await tunnel.stop().catch(onSecondError)
  })
  await tunnel.start()
  return services

  function onSecondSignal(signal: string): void {
    exitNow({ signal }, 'second signal')
  }

  function onSecondError(err: unknown): never {
    exitNow({ err }, 'error while stopping')
  }

  function onTimeout(ms: number): void {
    exitNow({ ms }, 'stopping took too long')
  }

  /** Aborts pending requests. Acknowledged envelopes are in the spool, and log lines are written. */
  function exitNow(details: object, reason: string): never {
    logger.fatal(details, `${reason}: exiting at once`)
    services.log.closeSync()
    process.exit(1)
  }
}
