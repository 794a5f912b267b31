/** The thread that moves what the write-ahead log has gathered into the spool's file, so that no envelope waits for it. */

import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'

const { file }: { file: string } = workerData
const EVERY_MS = 250
const WORTH_BYTES = 4 * 1024 * 1024 // 4 MiB
const LARGE_BYTES = 64 * 1024 * 1024 // 64 MiB

const db = new DatabaseSync(file, { timeout: 200 })
let lastBytes = 0
setInterval(checkpoint, EVERY_MS)

/** One replica at a time: SQLite gives a checkpoint to one connection, and the others go on. */
function checkpoint(): void {
  const bytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  const mode = modeFor(bytes)
  lastBytes = bytes
  if (!mode) return
  try {
    db.exec(`PRAGMA wal_checkpoint(${mode})`)
  } catch {
    // Somebody else is at it, or the disk is full: there is another time soon.
  }
}

/** Passive asks nobody to wait, and so cannot shrink a log that is always written to; writers wait a moment once it is large. */
function modeFor(bytes: number): 'PASSIVE' | 'RESTART' | 'TRUNCATE' | undefined {
  if (bytes < WORTH_BYTES) return undefined
  if (bytes === lastBytes) return 'TRUNCATE'
  return bytes > LARGE_BYTES ? 'RESTART' : 'PASSIVE'
}
