/** Peak memory of a process between two moments, as Linux reports it. */

import { readFileSync, writeFileSync } from 'node:fs'

const SAMPLE_MS = 20

/**
 * Measures resident memory from now on, without the program's files: a container's limit counts those as page cache, which the kernel drops
 * when memory is short. Resets the kernel's peak where this process may do so; elsewhere it samples.
 */
export function watchMemory(pid: number) {
  const canReset = resetPeak(pid)
  const programFiles = readMiB(pid, 'RssFile') // about 62 MiB, and nearly the same later
  const idle = readMiB(pid, 'VmRSS')
  let resident = idle
  const timer = setInterval(sample, SAMPLE_MS)

  function sample(): void {
    resident = Math.max(resident, readMiB(pid, 'VmRSS'))
  }

  return {
    /** Ends the measurement. Values in MiB: before, and at the peak. */
    end(): { idle: number; peak: number } {
      clearInterval(timer)
      sample()
      const mark = canReset ? readMiB(pid, 'VmHWM') : 0 // after the death of a process only samples remain
      const peak = Math.max(resident, mark)
      return { idle: idle - programFiles, peak: peak - programFiles }
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

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // the process has ended
  }
}
