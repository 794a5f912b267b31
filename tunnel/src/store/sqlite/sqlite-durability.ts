/** Durability of a spool file. */

import { statfsSync } from 'node:fs'

/** First versions without the fault by which two connections that checkpoint at once may lose commits (sqlite.org/changes.html). */
const FIXED = [
  [3, 44, 6],
  [3, 50, 7],
  [3, 51, 3],
] as const
const IN_MEMORY = [0x01021994, 0x858458f6] // tmpfs, ramfs (statfs(2))

/** Returns the problem of a version of SQLite, with the remedy. */
export function problemOfSqlite(version: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const line = FIXED.find(([, fixedMinor]) => fixedMinor === minor)
  const isFixed = major > 3 || (major === 3 && (minor > 51 || (line !== undefined && patch >= line[2])))
  if (isFixed) return undefined
  return `SQLite ${version} can lose envelopes when two replicas write (its WAL-reset fault); run a Node.js with SQLite 3.51.3 or newer, such as 24.21`
}

/** Describes the disk of a folder. */
export function describeDisk(folder: string, version = process.versions.sqlite ?? ''): string {
  const problem = problemOfSqlite(version)
  if (problem !== undefined) return `unproven: ${problem}`
  return IN_MEMORY.includes(statfsSync(folder).type)
    ? `in memory: ${folder} is lost when the machine stops; set SPOOL_URL to a file on a disk`
    : 'synced on 1 disk'
}
