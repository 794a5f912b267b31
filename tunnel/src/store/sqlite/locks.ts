/** Locks of SQLite files that several replicas share. */

import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export const SQLITE_BUSY = 5
/** Longest wait for other replicas: commits and checkpoints of a slow disk take seconds. */
export const BUSY_MS = 5_000
const AWAY_MS = 0 // one attempt
const PATIENT_MS = 10
const SLEEPER = new Int32Array(new SharedArrayBuffer(4))

/** Milliseconds since some start, and a pause that blocks the thread. */
export type BlockingClock = { now: () => number; pause: (ms: number) => void }

const CLOCK: BlockingClock = { now: () => performance.now(), pause: pauseThread }

/** Another replica has a lock, and does not release it: it is paused, or its disk hangs. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld' // also after it was sent by another thread
  override readonly message =
    'another replica has locked the file and does not release it; resume or kill the one that is paused (docker ps, kubectl get pods)'
}

/**
 * Wait of one batch of calls for the locks of other replicas, which blocks the thread: 5 s for all of them together. While a lock is held
 * for longer, later batches try once.
 */
export class LockWait {
  readonly #clock: BlockingClock
  #leftMs = 0
  #isAway = false

  constructor(clock = CLOCK) {
    this.#clock = clock
  }

  /** Begins the wait of the next batch. */
  begin(): void {
    this.#leftMs = this.#isAway ? AWAY_MS : BUSY_MS
  }

  /**
   * Runs `work` again while the file is locked. Throws `LockHeld` when the wait is over. The random pauses shrink with time: SQLite's own
   * grow to 100 ms, which starves the longest waiter, and some locks have none.
   */
  run<T>(work: () => T): T {
    for (let pausedMs = 0; ; ) {
      try {
        const result = work()
        this.#isAway = false
        return result
      } catch (error) {
        if (!hasErrorCode(error, [SQLITE_BUSY])) throw error
        if (this.#leftMs <= 0) {
          this.#isAway = true
          throw new LockHeld()
        }
        const startedAt = this.#clock.now()
        this.#clock.pause(Math.max(0.1, 1 - pausedMs / PATIENT_MS) * (0.5 + Math.random()))
        const lastMs = this.#clock.now() - startedAt
        pausedMs += lastMs
        this.#leftMs -= lastMs
      }
    }
  }
}

/** Runs `work` again while the file is locked, for 5 s. Throws `LockHeld` after that. */
export function retryWhileBusy<T>(work: () => T): T {
  const wait = new LockWait()
  wait.begin()
  return wait.run(work)
}

/** Throws for a name that is a FIFO, a device or a folder: opening some of them waits for ever. */
export function rejectSpecialFile(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found && !found.isFile())
    throw new Error(
      `SPOOL_URL: "${file}" is not a regular file; write the path of a file on a disk, which need not exist`,
    )
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
