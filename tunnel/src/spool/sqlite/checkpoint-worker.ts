/** Worker thread that moves the write-ahead log into the spool's file, so that no put waits for it. */

import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'

const { file }: { file: string } = workerData
const INTERVAL_MS = 250
const MIN_BYTES = 4 * 1024 * 1024 // 4 MiB
const LARGE_BYTES = 64 * 1024 * 1024 // 64 MiB

const db = new DatabaseSync(file, { timeout: 200 })
let lastBytes = 0
setInterval(checkpoint, INTERVAL_MS)

function checkpoint(): void {
  const bytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  const modes = modesFor(bytes)
  lastBytes = bytes
  try {
    for (const mode of modes) db.exec(`PRAGMA wal_checkpoint(${mode})`)
  } catch {
    // Another replica is at it, or the disk is full. The next interval tries again.
  }
}

/**
 * Returns the modes of sqlite.org/pragma.html#pragma_wal_checkpoint. PASSIVE blocks nobody, but cannot restart a log that is always
 * written to. RESTART blocks writers, for as long as it moves what arrived during PASSIVE.
 */
function modesFor(bytes: number): ('PASSIVE' | 'RESTART' | 'TRUNCATE')[] {
  if (bytes < MIN_BYTES) return []
  if (bytes === lastBytes) return ['TRUNCATE']
  return bytes > LARGE_BYTES ? ['PASSIVE', 'RESTART'] : ['PASSIVE']
}
