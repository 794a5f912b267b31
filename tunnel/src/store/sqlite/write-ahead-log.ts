/** Write-ahead log of the spool's SQLite file, which every writer keeps short. */

import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { type LockWait, SQLITE_BUSY } from './locks.ts'

/** Modes of sqlite.org/pragma.html#pragma_wal_checkpoint. `RESTART` leaves the log its space on the disk. */
export type CheckpointMode = 'RESTART' | 'TRUNCATE'

/** Another connection reads, writes or moves the log. */
class CheckpointBusy extends Error {
  readonly errcode = SQLITE_BUSY
}

export class WriteAheadLog {
  readonly #db: DatabaseSync
  readonly #file: string
  readonly #maxBytes: number
  readonly #wait: LockWait

  /** `wait` is for checkpoints only: after a long one, later checkpoints try once. */
  constructor(db: DatabaseSync, spoolFile: string, maxBytes: number, wait: LockWait) {
    this.#db = db
    this.#file = walFileOf(spoolFile)
    this.#maxBytes = maxBytes
    this.#wait = wait
  }

  isLong(): boolean {
    return fileBytes(this.#file) > this.#maxBytes
  }

  /** Returns `true` when it could take more room in the file than the reserve leaves, with one more transaction. */
  isTooLong(): boolean {
    return fileBytes(this.#file) > 1.5 * this.#maxBytes
  }

  /** Moves the log into the file if it is long. */
  shorten(mode: CheckpointMode): void {
    if (this.isLong()) this.checkpoint(mode)
  }

  /** Moves a log that has reached a quarter of its limit into the file. Returns `false` when another connection prevents it. */
  shortenWhenIdle(mode: CheckpointMode): boolean {
    return fileBytes(this.#file) < this.#maxBytes / 4 || this.#moveIntoFile(mode)
  }

  /** Moves the log into the file. Returns `false` when the disk is full, or when other connections stand in the way for 5 s: on a slow disk, commits take seconds. */
  checkpoint(mode: CheckpointMode): boolean {
    const wasLong = this.isLong()
    this.#wait.begin()
    try {
      this.#wait.run(() => {
        if (this.#moveIntoFile(mode) || (wasLong && !this.isLong())) return // or another replica has done it
        throw new CheckpointBusy()
      })
      return true
    } catch {
      return false
    }
  }

  #moveIntoFile(mode: CheckpointMode): boolean {
    return this.#db.prepare(`PRAGMA wal_checkpoint(${mode})`).get()?.busy === 0
  }
}

export function walFileOf(spoolFile: string): string {
  return `${spoolFile}-wal`
}

/** Returns 0 for a file that does not exist. */
export function fileBytes(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
