/** State of the replicas that is no envelope, in tables of the spool's SQLite file: values, and snapshots of the counters. */

import type { DatabaseSync } from 'node:sqlite'
import {
  BUNDLES_KEPT_MS,
  type SharedValue,
  SNAPSHOT_STEPS,
  type SnapshotRow,
} from '../../pipeline/shared-state.ts'

/** The previous release reads and writes the tables, too: change them by additions only. */
export const SHARED_TABLES = `CREATE TABLE IF NOT EXISTS shared_values (
  key TEXT PRIMARY KEY,
  revision INTEGER NOT NULL,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history (
  step INTEGER NOT NULL,
  time INTEGER NOT NULL,
  replica TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (step, time, replica)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS bundles (
  file TEXT PRIMARY KEY,
  written INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT`

/** Bound of the rows: those of 24 replicas. */
export const MAX_SNAPSHOT_ROWS = 10_000
const MAX_BUNDLES = 40 // of ten releases

/** Runs in a transaction of its caller. */
export class SharedTables {
  readonly #statements: ReturnType<typeof prepare>

  constructor(db: DatabaseSync) {
    this.#statements = prepare(db)
  }

  get(key: string): SharedValue {
    const row = this.#statements.value.get(key)
    return { value: row && String(row.value), revision: Number(row?.revision ?? 0) }
  }

  put(key: string, value: string, revision: number): boolean {
    const { insertValue, updateValue } = this.#statements
    const { changes } = revision === 0 ? insertValue.run(key, value) : updateValue.run(value, key, revision)
    return changes > 0
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

  readBundle(file: string): Uint8Array | undefined {
    const bytes = this.#statements.bundle.get(file)?.bytes
    return bytes instanceof Uint8Array ? bytes : undefined
  }

  /** Stores a bundle, and removes those that no replica has stored for a day, and the oldest of many. */
  writeBundle(file: string, bytes: Uint8Array): void {
    this.#statements.putBundle.run(file, Date.now(), bytes)
    this.#statements.removeBundles.run(Date.now() - BUNDLES_KEPT_MS, MAX_BUNDLES)
  }
}

function prepare(db: DatabaseSync) {
  return {
    bundle: db.prepare('SELECT bytes FROM bundles WHERE file = ?'),
    putBundle: db.prepare(
      `INSERT INTO bundles (file, written, bytes) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET written = excluded.written, bytes = excluded.bytes`,
    ),
    removeBundles: db.prepare(
      `DELETE FROM bundles WHERE written < ? OR file NOT IN (SELECT file FROM bundles ORDER BY written DESC LIMIT ?)`,
    ),
    value: db.prepare('SELECT value, revision FROM shared_values WHERE key = ?'),
    insertValue: db.prepare(
      'INSERT INTO shared_values (key, revision, value) VALUES (?, 1, ?) ON CONFLICT DO NOTHING',
    ),
    updateValue: db.prepare(
      'UPDATE shared_values SET value = ?, revision = revision + 1 WHERE key = ? AND revision = ?',
    ),
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
