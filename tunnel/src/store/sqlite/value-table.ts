/** Values in the spool's SQLite file, which replicas share. */

import type { DatabaseSync } from 'node:sqlite'
import type { SharedValue } from '../../pipeline/shared-state.ts'

/** Additive: the previous release ignores the table. */
export const VALUES_TABLE = `CREATE TABLE IF NOT EXISTS shared_values (
  key TEXT PRIMARY KEY,
  revision INTEGER NOT NULL,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID`

/** Runs in a transaction of its caller. */
export class ValueTable {
  readonly #statements: ReturnType<typeof prepare>

  constructor(db: DatabaseSync) {
    this.#statements = prepare(db)
  }

  getValue(key: string): SharedValue {
    const row = this.#statements.get.get(key)
    return row
      ? { value: String(row.value), revision: Number(row.revision) }
      : { value: undefined, revision: 0 }
  }

  putValue(key: string, value: string, revision: number): boolean {
    const { insert, update } = this.#statements
    const { changes } = revision === 0 ? insert.run(key, value) : update.run(value, key, revision)
    return changes > 0
  }
}

function prepare(db: DatabaseSync) {
  return {
    get: db.prepare('SELECT value, revision FROM shared_values WHERE key = ?'),
    insert: db.prepare(
      'INSERT INTO shared_values (key, revision, value) VALUES (?, 1, ?) ON CONFLICT DO NOTHING',
    ),
    update: db.prepare(
      'UPDATE shared_values SET value = ?, revision = revision + 1 WHERE key = ? AND revision = ?',
    ),
  }
}
