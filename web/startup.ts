/** Start and stop of the server: checks the settings, starts the SDK, and sends pending reports at the end. */

import { trustCertificates } from 'contract/certificates'
import { keepMonitoring } from './features/console/shared-monitor.ts'
import { config, unknownSettings } from './lib/config.ts'
import { flushReports, startServerSdk } from './lib/sentry/server.ts'

export function start(): void {
  const problems: string[] = []
  const settings = config(problems)
  for (const sentence of unknownSettings()) console.warn(sentence)
  if (problems.length > 0) exitWith(problems)
  if (settings.caFile) trustCertificates(settings.caFile)
  startServerSdk(settings)
  if (settings.operatorPassword) keepMonitoring(settings)
  exitCleanly()
}

function exitWith(problems: string[]): never {
  console.error([`culvert web: cannot start, ${problems.length} problem(s):`, ...problems].join('\n'))
  process.exit(1)
}

const STOP_TIMEOUT_MS = 5_000 // ms; Docker kills after 10 s, and idle connections may stay open
const FLUSH_TIMEOUT_MS = 2_000 // ms of it, for pending reports

/** Exits with 0 after a stop signal, once reports are sent. Next.js would exit with 128 + signal, which looks like a failure. */
function exitCleanly(): void {
  const { exit } = process
  const leave = () => void flushReports(FLUSH_TIMEOUT_MS).finally(() => exit(0))
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => {
      process.exit = leave as typeof exit
      setTimeout(leave, STOP_TIMEOUT_MS).unref()
    })
}
