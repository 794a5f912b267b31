/** Write-ahead log of the spool's SQLite file, which every writer keeps short. */

import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { PAGE_BYTES } from './entry-row.ts'
import { pauseThread } from './locks.ts'

const PATIENCE_MS = 1_000
const IMPATIENT_MS = 5_000 // after a reader has stood in the way, so that calls do not wait one after the other

/** Modes of sqlite.org/pragma.html#pragma_wal_checkpoint. `RESTART` leaves the log its space on the disk. */
export type CheckpointMode = 'RESTART' | 'TRUNCATE'

export class WriteAheadLog {
  readonly #db: DatabaseSync
  readonly #spoolFile: string
  readonly #file: string
  readonly #pages: StatementSync
  readonly #maxBytes: number
  #impatientUntil = 0

  constructor(db: DatabaseSync, spoolFile: string, maxBytes: number) {
    this.#db = db
    this.#spoolFile = spoolFile
    this.#file = walFileOf(spoolFile)
    this.#pages = db.prepare('PRAGMA page_count')
    this.#maxBytes = maxBytes
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

  /** Moves the log into the file. Returns `false` when the disk is full, or when a reader stands in the way for a second. */
  checkpoint(mode: CheckpointMode): boolean {
    const wasLong = this.isLong()
    for (const startedAt = performance.now(); ; ) {
      try {
        if (this.#db.prepare(`PRAGMA wal_checkpoint(${mode})`).get()?.busy === 0) return true
      } catch {
        return false
      }
      if (wasLong && !this.isLong()) return true // another replica has done it
      const now = performance.now()
      if (now < this.#impatientUntil) return false
      if (now - startedAt > PATIENCE_MS) {
        this.#impatientUntil = now + IMPATIENT_MS
        return false
      }
      pauseThread(1 + Math.random())
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
