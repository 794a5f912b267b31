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
  const modes = modesFor(bytes)
  lastBytes = bytes
  try {
    for (const mode of modes) db.exec(`PRAGMA wal_checkpoint(${mode})`)
  } catch {
    // Somebody else is at it, or the disk is full: there is another time soon.
  }
}

/**
 * Passive asks nobody to wait, and so cannot begin a log anew that is always written to. Once it is large writers wait for that, though only
 * while the little is moved that came during a passive one.
 */
function modesFor(bytes: number): ('PASSIVE' | 'RESTART' | 'TRUNCATE')[] {
  if (bytes < WORTH_BYTES) return []
  if (bytes === lastBytes) return ['TRUNCATE']
  return bytes > LARGE_BYTES ? ['PASSIVE', 'RESTART'] : ['PASSIVE']
}
