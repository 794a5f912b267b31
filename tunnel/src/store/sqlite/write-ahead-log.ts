/** Write-ahead log of the spool's SQLite file, which every writer keeps short. */

import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { PAGE_BYTES } from './entry-row.ts'
import { hasErrorCode, type LockWait, SQLITE_BUSY } from './locks.ts'

const READER_MS = 1_000
const IMPATIENT_MS = 5_000 // after a long wait, so that calls do not wait one after the other

/** Modes of sqlite.org/pragma.html#pragma_wal_checkpoint. `RESTART` leaves the log its space on the disk. */
export type CheckpointMode = 'RESTART' | 'TRUNCATE'

export class WriteAheadLog {
  readonly #db: DatabaseSync
  readonly #spoolFile: string
  readonly #file: string
  readonly #pages: StatementSync
  readonly #maxBytes: number
  readonly #now: () => number
  readonly #lockWait: LockWait
  #impatientUntil = 0

  constructor(
    db: DatabaseSync,
    spoolFile: string,
    maxBytes: number,
    lockWait: LockWait,
    now = () => performance.now(),
  ) {
    this.#db = db
    this.#spoolFile = spoolFile
    this.#file = walFileOf(spoolFile)
    this.#pages = db.prepare('PRAGMA page_count')
    this.#maxBytes = maxBytes
    this.#lockWait = lockWait
    this.#now = now
  }

  isLong(): boolean {
    return fileBytes(this.#file) > this.#maxBytes
  }

  /** Returns the bytes by which the file becomes longer when the log, with the current transaction, is moved into it. */
  growthOfFile(): number {
    return Number(this.#pages.get()?.page_count) * PAGE_BYTES - fileBytes(this.#spoolFile)
  }

  /** Moves the log into the file if it is long. Returns `false` when it stays long, and is twice as long as it may be. */
  shorten(mode: CheckpointMode): boolean {
    return !this.isLong() || this.checkpoint(mode) || fileBytes(this.#file) <= 2 * this.#maxBytes
  }

  /** Moves a log that is a quarter as long as it may be into the file. Returns `false` when something stands in the way. */
  shortenWhenIdle(mode: CheckpointMode): boolean {
    return fileBytes(this.#file) < this.#maxBytes / 4 || this.#moveIntoFile(mode) === undefined
  }

  /**
   * Moves the log into the file. Returns `false` when the disk is full, when a reader stands in the way for a second, or when other
   * connections do until the wait of the batch is over: on a slow disk, their checkpoints and commits take seconds. For a reader only the
   * pauses between attempts count, since an attempt may take seconds, too. After that it tries only once.
   */
  checkpoint(mode: CheckpointMode): boolean {
    const wasLong = this.isLong()
    for (let readerMs = 0; ; ) {
      const obstacle = this.#moveIntoFile(mode)
      if (obstacle === 'full disk') return false
      if (obstacle === undefined || (wasLong && !this.isLong())) {
        this.#impatientUntil = 0
        return true // or another replica has done it
      }
      const now = this.#now()
      if (now < this.#impatientUntil) return false
      if (readerMs > READER_MS || this.#lockWait.isOver()) {
        this.#impatientUntil = obstacle === 'reader' ? now + IMPATIENT_MS : Infinity
        if (obstacle !== 'reader') this.#lockWait.giveUp()
        return false
      }
      const pausedMs = this.#lockWait.pause(1 + Math.random())
      if (obstacle === 'reader') readerMs += pausedMs
    }
  }

  /** Returns what stands in the way. */
  #moveIntoFile(mode: CheckpointMode): 'full disk' | 'checkpoint' | 'reader' | 'writer' | undefined {
    try {
      const { busy, log, checkpointed } = this.#db.prepare(`PRAGMA wal_checkpoint(${mode})`).get() ?? {}
      if (busy === 0) return undefined
      if (log === -1) return 'checkpoint'
      return log === checkpointed && this.#isBeingWritten() ? 'writer' : 'reader'
    } catch {
      return 'full disk'
    }
  }

  #isBeingWritten(): boolean {
    try {
      this.#db.exec('BEGIN IMMEDIATE; ROLLBACK')
      return false
    } catch (error) {
      if (hasErrorCode(error, [SQLITE_BUSY])) return true
      throw error
    }
  }
}

export function walFileOf(spoolFile: string): string {
  return `${spoolFile}-wal`
}

/** Returns 0 for a file that does not exist. */
export function fileBytes(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
