/** Refuses to start with wrong settings, and makes stopping a success. */

import { config } from './config.ts'

export function start(): void {
  const problems: string[] = []
  config(problems)
  if (problems.length > 0) refuse(problems)
  stopInPeace()
}

function refuse(problems: string[]): never {
  console.error([`culvert web: cannot start, ${problems.length} problem(s):`, ...problems].join('\n'))
  process.exit(1)
}

const LONGEST_STOP = 5_000 // ms; Docker kills after 10 s, and a browser can hold a connection open without a word

/** Next answers what is in hand and leaves with 128 + signal; a stop that was asked for is no failure. */
function stopInPeace(): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => {
      process.once('exit', () => {
        process.exitCode = 0
      })
      setTimeout(() => process.exit(0), LONGEST_STOP).unref()
    })
}
