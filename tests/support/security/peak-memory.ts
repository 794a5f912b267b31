/** Peak memory of a process between two moments, as Linux reports it. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const SAMPLE_MS = 20
const MIB = 1024 * 1024

/**
 * Measures resident memory from now on, without the program's files: a container's limit counts those as page cache, which the kernel drops
 * when memory is short. Resets the kernel's peak where this process may do so; elsewhere it samples. With a cgroup, memory other than page
 * cache is sampled too.
 */
export function watchMemory(pid: number, cgroup?: string) {
  const canReset = resetPeak(pid)
  const programFiles = readMiB(pid, 'RssFile') // about 62 MiB, and nearly the same later
  const idle = readMiB(pid, 'VmRSS')
  let [resident, anonymous] = [idle, 0]
  const timer = setInterval(sample, SAMPLE_MS)

  function sample(): void {
    resident = Math.max(resident, readMiB(pid, 'VmRSS'))
    if (cgroup) anonymous = Math.max(anonymous, anonymousMiB(cgroup))
  }

  return {
    /** Ends the measurement. Values in MiB: before, at the peak, and the peak of the cgroup's memory without page cache. */
    end(): { idle: number; peak: number; cgroupPeak: number } {
      clearInterval(timer)
      sample()
      const mark = canReset ? readMiB(pid, 'VmHWM') : 0 // after the death of a process only samples remain
      const peak = Math.max(resident, mark)
      return { idle: idle - programFiles, peak: peak - programFiles, cgroupPeak: anonymous }
    },
  }
}

function resetPeak(pid: number): boolean {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
    return true
  } catch {
    return false // a process of another user
  }
}

function readMiB(pid: number, field: 'VmRSS' | 'RssFile' | 'VmHWM'): number {
  return (
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024
  )
}

/** Version 2 has `anon`, version 1 `total_rss`. */
function anonymousMiB(cgroup: string): number {
  return Number(/^(?:anon|total_rss) (\d+)$/m.exec(read(join(cgroup, 'memory.stat')))?.[1] ?? 0) / MIB
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // the process has ended
  }
}

/** Returns the folder of the memory controller of a process, of either version. */
export function memoryCgroup(pid: number): string | undefined {
  const lines = read(`/proc/${pid}/cgroup`).split('\n')
  for (const [pattern, root] of [
    [/^\d+:(?:[\w=]+,)*memory(?:,[\w=]+)*:(.+)$/, '/sys/fs/cgroup/memory'],
    [/^0::(.+)$/, '/sys/fs/cgroup'],
  ] as const) {
    const path = lines.map((line) => pattern.exec(line)?.[1]).find((found) => found !== undefined)
    if (path !== undefined && existsSync(join(root, path, 'memory.stat'))) return join(root, path)
  }
  return undefined
}

/** Returns the process that runs the program: the child of an init process. */
export function programOf(pid: number): number {
  const [child] = read(`/proc/${pid}/task/${pid}/children`).trim().split(' ')
  return child ? Number(child) : pid
}
