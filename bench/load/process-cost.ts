/** Reads the CPU time and memory of processes from /proc. */

import { readdirSync, readFileSync } from 'node:fs'

/** Returns the CPU time of processes with all running threads, in seconds. The kernel counts it in nanoseconds, unlike `stat`. */
export function cpuSeconds(...pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuNanoseconds(pid), 0) / 1e9
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

function cpuNanoseconds(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.reduce((sum, thread) => sum + threadNanoseconds(`/proc/${pid}/task/${thread}`), 0)
}

function threadNanoseconds(folder: string): number {
  try {
    const [time] = readFileSync(`${folder}/schedstat`, 'latin1').split(' ')
    return Number(time)
  } catch {
    return 0 // it has ended meanwhile
  }
}

function residentKilobytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
}
