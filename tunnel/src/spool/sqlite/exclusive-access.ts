/** Whether this process alone has a spool's file open, known by locks that end with the process. */

import { DatabaseSync } from 'node:sqlite'

export type Ownership = {
  /** Runs `work` while no other replica has the file open, or gives `undefined` when one has. */
  alone<T>(work: () => T): T | undefined
  close(): void
}

const BUSY_MS = 10_000

/** Every replica holds a shared lock on a small file beside the spool's; who can make it exclusive is alone. */
export function shareOwnership(file: string): Ownership {
  const db = new DatabaseSync(`${file}-owners`)
  share()
  return { alone, close: () => db.close() }

  /** Waits for whoever is alone at the moment. */
  function share(): void {
    db.exec(`PRAGMA busy_timeout = ${BUSY_MS}; BEGIN; SELECT count(*) FROM sqlite_schema`)
  }

  function alone<T>(work: () => T): T | undefined {
    db.exec('COMMIT')
    try {
      db.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
    } catch {
      share()
      return undefined
    }
    try {
      return work()
    } finally {
      db.exec('COMMIT')
      share()
    }
  }
}
