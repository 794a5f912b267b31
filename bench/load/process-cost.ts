/** What processes cost, as Linux counts it. */

import { readFileSync } from 'node:fs'

const TICKS = 100 // a second, for what /proc tells of every Linux (USER_HZ)

/** Seconds of CPU time that processes have used, all of their threads together. */
export function cpuSeconds(...pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuTicks(pid), 0) / TICKS
}

/** Bytes that processes hold in memory now; what they share is counted in each. */
export function residentBytes(...pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + residentKilobytes(pid), 0) * 1024
}

/** Those that a process has started and that run. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

function cpuTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ') // a program's name may hold blanks
  const [user, system] = [fields[11], fields[12]].map(Number)
  return (user ?? NaN) + (system ?? NaN)
}

function residentKilobytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
}
