/** Locks of SQLite files that several replicas share. */

import { DatabaseSync } from 'node:sqlite'

export const SQLITE_BUSY = 5
/** Longest wait for other replicas. */
export const BUSY_MS = 10_000
const PATIENT_MS = 10
const SLEEPER = new Int32Array(new SharedArrayBuffer(4))

/**
 * Runs `work` again while the file is locked, and blocks meanwhile. Throws after 10 s. The random pauses shrink with time: SQLite's own
 * grow to 100 ms, which starves the longest waiter, and some locks have none.
 */
export function retryWhileBusy<T>(work: () => T): T {
  for (const startedAt = performance.now(); ; ) {
    try {
      return work()
    } catch (error) {
      const waitedMs = performance.now() - startedAt
      if (!hasErrorCode(error, [SQLITE_BUSY]) || waitedMs > BUSY_MS) throw error
      pauseThread(Math.max(0.1, 1 - waitedMs / PATIENT_MS) * (0.5 + Math.random()))
    }
  }
}

export function pauseThread(ms: number): void {
  Atomics.wait(SLEEPER, 0, 0, ms)
}

/** Returns `true` for an error of SQLite with one of these primary result codes (sqlite.org/rescode.html). */
export function hasErrorCode(error: unknown, codes: readonly number[]): boolean {
  return error instanceof Error && 'errcode' in error && codes.includes(Number(error.errcode) & 0xff)
}

/** Shared lock on a file beside the spool's. Every replica holds it while it has the spool open; it ends with the process. */
export class OwnerLock {
  readonly #db: DatabaseSync

  constructor(file: string) {
    this.#db = new DatabaseSync(`${file}-owners`)
    this.#share()
  }

  /** Runs `work` while no other replica has the file open. Returns `undefined` when one has. */
  runAlone<T>(work: () => T): T | undefined {
    this.#db.exec('COMMIT')
    try {
      this.#db.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
    } catch {
      this.#share()
      return undefined
    }
    try {
      return work()
    } finally {
      this.#db.exec('COMMIT')
      this.#share()
    }
  }

  close(): void {
    this.#db.close()
  }

  #share(): void {
    this.#db.exec(`PRAGMA busy_timeout = ${BUSY_MS}; BEGIN; SELECT count(*) FROM sqlite_schema`)
  }
}
