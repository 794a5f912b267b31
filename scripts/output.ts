/** What `npm start` shows: its own sentences at once, the lines of the processes when the site is up. */

import type { Stream } from './child-process.ts'
import type { Config } from './environment.ts'
import { tellLine } from './log-lines.ts'

export type Report = {
  /** A sentence of ours. */
  say: (sentence: string) => void
  /** A line that the process `part` said. */
  line: (part: string, line: string, stream: Stream) => void
  /** The site is up: shows the lines held back until now, and from now on each at once. */
  open: () => void
}

/** With `output` "all" every line is shown as it comes. */
export function createReport(output: Config['output'], print: (line: string) => void): Report {
  if (output === 'all') return { say: print, line: (part, line) => print(`${part}  ${line}`), open: () => {} }
  let held: string[] | undefined = []
  return {
    say: print,
    line(part, line, stream) {
      const told = tellLine(part, line, stream)
      if (told === undefined) return
      if (held) held.push(told)
      else print(told)
    },
    open() {
      for (const line of held ?? []) print(line)
      held = undefined
    },
  }
}

/** What someone who has just started the site needs to know. */
export function welcome(config: Config, address: string, ownPassword: string | undefined): string {
  const lines = [
    `Culvert runs at ${address}`,
    config.env.SENTRY_DSN?.trim() || config.env.SENTRY_DSN_FILE
      ? '  Reports go on to Sentry.'
      : '  Reports are kept in the inbox: no SENTRY_DSN is set.',
    ...(ownPassword ? [`  Operator's password: ${ownPassword} (kept in .culvert/operator-password)`] : []),
    '  Ctrl-C stops it.',
  ]
  return lines.join('\n')
}
