/** Snapshots in a SQLite file that replicas share. */

import type { DatabaseSync } from 'node:sqlite'
import { SNAPSHOT_STEPS, type SnapshotRow } from '../../pipeline/shared-state.ts'

/** Additive: the previous release ignores the table. */
export const SNAPSHOT_TABLE = `CREATE TABLE IF NOT EXISTS history (
  step INTEGER NOT NULL,
  time INTEGER NOT NULL,
  replica TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (step, time, replica)
) STRICT, WITHOUT ROWID`

/** Bound of the rows: those of 24 replicas. */
export const MAX_SNAPSHOT_ROWS = 10_000

/** Runs in a transaction of its caller. */
export class SnapshotTable {
  readonly #statements: ReturnType<typeof prepare>

  constructor(db: DatabaseSync) {
    this.#statements = prepare(db)
  }

  /**
   * Stores the rows, and removes old ones: by the number of later times, up to the newest of these rows. A clock that was ahead for a while
   * removes no others.
   */
  addSnapshots(rows: readonly SnapshotRow[]): void {
    const { put, removeOld, count, removeOldest } = this.#statements
    for (const { step, time, replica, data } of rows) put.run(step, time, replica, data)
    for (const { step, keepMs } of SNAPSHOT_STEPS) {
      const times = rows.filter((row) => row.step === step).map(({ time }) => time)
      if (times.length > 0) removeOld.run(step, step, Math.max(...times), keepMs / step)
    }
    const excess = Number(count.get()?.rows) - MAX_SNAPSHOT_ROWS
    if (excess > 0) removeOldest.run(excess)
  }

  readSnapshots(step: number, from: number): SnapshotRow[] {
    return this.#statements.since.all(step, from).map(({ time, replica, data }) => ({
      ...{ step, time: Number(time), replica: String(replica), data: String(data) },
    }))
  }
}

function prepare(db: DatabaseSync) {
  return {
    put: db.prepare(
      `INSERT INTO history (step, time, replica, data) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET data = excluded.data`,
    ),
    removeOld: db.prepare(
      `DELETE FROM history WHERE step = ? AND time < (
         SELECT DISTINCT time FROM history WHERE step = ? AND time <= ? ORDER BY time DESC LIMIT 1 OFFSET ?)`,
    ),
    count: db.prepare('SELECT count(*) AS rows FROM history'),
    removeOldest: db.prepare(
      `DELETE FROM history WHERE (step, time, replica) IN
       (SELECT step, time, replica FROM history ORDER BY time LIMIT ?)`,
    ),
    since: db.prepare('SELECT time, replica, data FROM history WHERE step = ? AND time >= ?'),
  }
}
