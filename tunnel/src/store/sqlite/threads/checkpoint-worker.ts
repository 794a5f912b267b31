/** Worker thread that moves the write-ahead log into the spool's file, so that puts seldom wait for it. */

import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'
import { reserveFileOf } from '../space.ts'
import { fileBytes, walFileOf } from '../write-ahead-log.ts'

/** `walBytes` is the length at which writers wait for the log to become short. */
export type CheckpointData = { file: string; walBytes: number }

const { file, walBytes }: CheckpointData = workerData
const INTERVAL_MS = 250
const MIN_BYTES = Math.min(4 * 1024 * 1024, walBytes / 4) // 4 MiB

const db = new DatabaseSync(file, { timeout: 200 })
let lastBytes = 0
setInterval(checkpoint, INTERVAL_MS)

/**
 * PASSIVE blocks no other connection, but cannot restart a log that is always written to; writers do that (`write-ahead-log.ts`).
 * Without a reserve, the log keeps its space on the disk.
 */
function checkpoint(): void {
  const bytes = fileBytes(walFileOf(file))
  const isIdle = bytes === lastBytes
  lastBytes = bytes
  if (bytes < MIN_BYTES) return
  try {
    db.exec(`PRAGMA wal_checkpoint(${isIdle && fileBytes(reserveFileOf(file)) > 0 ? 'TRUNCATE' : 'PASSIVE'})`)
  } catch {
    // Another replica is at it, or the disk is full. The next interval tries again.
  }
}
