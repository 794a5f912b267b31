/** Refuses to start with wrong settings, starts to report, and makes stopping a success that loses no report. */

import { keepMonitoring } from './features/console/shared-monitor.ts'
import { config } from './lib/config.ts'
import { flushReports, startServerSdk } from './lib/sentry/server.ts'

export function start(): void {
  const problems: string[] = []
  const settings = config(problems)
  if (problems.length > 0) refuse(problems)
  startServerSdk(settings)
  if (settings.operatorPassword) keepMonitoring(settings)
  stopInPeace()
}

function refuse(problems: string[]): never {
  console.error([`culvert web: cannot start, ${problems.length} problem(s):`, ...problems].join('\n'))
  process.exit(1)
}

const LONGEST_STOP = 5_000 // ms; Docker kills after 10 s, and a browser can hold a connection open without a word
const LONGEST_FLUSH = 2_000 // ms of it, for reports that are on their way

/** Next answers what is in hand and leaves at once, with 128 + signal: a stop that was asked for is no failure. */
function stopInPeace(): void {
  const { exit } = process
  const leave = () => void flushReports(LONGEST_FLUSH).finally(() => exit(0))
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => {
      process.exit = leave as typeof exit
      setTimeout(leave, LONGEST_STOP).unref()
    })
}
