/** Runs a tunnel from its settings until it is told to stop. */

import closeWithGrace from 'close-with-grace'
import { findMisspelt } from './config/setting-names.ts'
import type { Environment } from './config/settings.ts'
import { readConfigOrExit } from './config/startup-errors.ts'
import { openServices } from './services.ts'
import { createTunnel } from './tunnel.ts'

const STOP_MS = 15_000 // shorter than compose's stop_grace_period

export async function run(env: Environment): Promise<void> {
  process.umask(0o077) // what lies on disk are reports of errors and visitors' addresses
  const parts = await openServices(readConfigOrExit(env))
  for (const sentence of findMisspelt(env)) parts.log.logger.warn(sentence)
  const tunnel = createTunnel(parts)
  const { logger } = parts.log
  const settings = { delay: STOP_MS, logger: false, onSecondSignal, onSecondError, onTimeout } as const
  closeWithGrace(settings, async ({ err }) => {
    if (err) logger.fatal({ err }, 'stopping after an error')
    await tunnel.stop().catch(onSecondError)
  })
  await tunnel.start()

  function onSecondSignal(signal: string): void {
    leaveAtOnce({ signal }, 'told again to stop')
  }

  function onSecondError(err: unknown): never {
    leaveAtOnce({ err }, 'an error while stopping')
  }

  function onTimeout(ms: number): void {
    leaveAtOnce({ ms }, 'stopping takes too long')
  }

  /** What is in hand is cut off. What was acknowledged is in the spool, and what was logged goes out. */
  function leaveAtOnce(about: object, why: string): never {
    logger.fatal(about, `${why}: leaving at once`)
    parts.log.closeSync()
    process.exit(1)
  }
}
