/** The thread that moves what the write-ahead log has gathered into the spool's file, so that no envelope waits for it. */

import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'

const { file }: { file: string } = workerData
const EVERY_MS = 1_000
const WORTH_BYTES = 4 * 1024 * 1024 // 4 MiB

const db = new DatabaseSync(file, { timeout: 0 })
setInterval(checkpoint, EVERY_MS)

/** One replica at a time: SQLite gives a passive checkpoint to one connection, and the others go on. */
function checkpoint(): void {
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) < WORTH_BYTES) return
  try {
    db.exec('PRAGMA wal_checkpoint(PASSIVE)')
  } catch {
    // Somebody else is at it, or the disk is full: there is another time in a second.
  }
}
