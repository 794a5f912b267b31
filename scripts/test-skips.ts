/** Tests that were skipped: told with their reasons, and in CI refused unless they may be. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A beginning of test names, and the reason for which those may be skipped. */
export type Leave = { name: string; reason: string }

/** Reads `.ci/skips.txt`: a line for each, `beginning of the name: reason`; `#` begins a comment. */
export function readLeave(root: string): Leave[] {
  const file = join(root, '.ci/skips.txt')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  return lines
    .map((line) => /^(?!#)\s*(\S.*?): (.+?)\s*$/.exec(line))
    .flatMap((match) => (match ? [{ name: match[1] ?? '', reason: match[2] ?? '' }] : []))
}

/** Prints each skip, reason by reason, and gives how many were not allowed; with `leave` undefined all are. */
export function tellSkips(
  skips: Map<string, string>,
  leave: Leave[] | undefined,
  print: (line: string) => void,
): number {
  for (const [reason, names] of byReason(skips)) {
    print(`Skipped, ${reason} (${names.length}):`)
    for (const name of names) print(`  ${name}`)
  }
  const refused = [...skips].filter(([name, reason]) => leave && !mayBeSkipped(name, reason, leave))
  if (refused.length > 0) print(`culvert: ${refused.length} skips are not on the list of .ci/skips.txt.`)
  return refused.length
}

function byReason(skips: Map<string, string>): [string, string[]][] {
  return Object.entries(Object.groupBy(skips.keys(), (name) => skips.get(name) ?? '')).map(
    ([reason, names]) => [reason, names ?? []],
  )
}

function mayBeSkipped(name: string, reason: string, leave: Leave[]): boolean {
  return leave.some((allowed) => name.startsWith(allowed.name) && reason === allowed.reason)
}
