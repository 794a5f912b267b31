/** Reads the CPU time and memory of processes from /proc. */

import { readFileSync } from 'node:fs'

const TICKS = 100 // per second: USER_HZ of every Linux

/** Returns the CPU time of processes with all threads, in seconds. */
export function cpuSeconds(...pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuTicks(pid), 0) / TICKS
}

/** Returns the resident memory of processes in bytes; shared pages count for each. */
export function residentBytes(...pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + residentKilobytes(pid), 0) * 1024
}

/** Returns the running children of a process. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

function cpuTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ') // the name of a program may contain spaces
  const [user, system] = [fields[11], fields[12]].map(Number)
  return (user ?? NaN) + (system ?? NaN)
}

function residentKilobytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
}
