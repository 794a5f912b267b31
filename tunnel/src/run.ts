/** Runs a tunnel from its settings until it is told to stop. */

import closeWithGrace from 'close-with-grace'
import { openParts } from './parts.ts'
import { readConfigOrExit } from './refusal-to-start.ts'
import { findMisspelt } from './setting-names.ts'
import type { Environment } from './settings.ts'
import { createTunnel } from './tunnel.ts'

const STOP_MS = 15_000 // shorter than compose's stop_grace_period

export async function run(env: Environment): Promise<void> {
  process.umask(0o077) // what lies on disk are reports of errors and visitors' addresses
  const parts = await openParts(readConfigOrExit(env))
  for (const sentence of findMisspelt(env)) parts.log.logger.warn(sentence)
  const tunnel = createTunnel(parts)
  closeWithGrace({ delay: STOP_MS, logger: false }, async ({ err }) => {
    if (err) parts.log.logger.fatal({ err }, 'stopping after an error')
    await tunnel.stop()
  })
  await tunnel.start()
}
