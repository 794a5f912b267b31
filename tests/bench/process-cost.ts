/** What a process costs, as Linux counts it. */

import { readFileSync } from 'node:fs'

const TICKS = 100 // a second, for what /proc tells of every Linux (USER_HZ)

/** Seconds of CPU time that a process has used, all of its threads together. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ') // a program's name may hold blanks
  const [user, system] = [fields[11], fields[12]].map(Number)
  return ((user ?? NaN) + (system ?? NaN)) / TICKS
}

/** Bytes that a process holds in memory now. */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}
