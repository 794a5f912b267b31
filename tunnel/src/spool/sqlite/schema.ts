/** The schema of the spool's SQLite file, made or brought up to date when it is opened. */

import type { DatabaseSync } from 'node:sqlite'
import { whenFree } from './busy-retry.ts'

// Additive only: a version runs beside its predecessor on one file.
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE spool (id TEXT NOT NULL) STRICT;
   CREATE TABLE envelopes (
     id INTEGER PRIMARY KEY,
     key TEXT NOT NULL UNIQUE,
     project TEXT NOT NULL,
     category TEXT NOT NULL,
     priority INTEGER NOT NULL,
     network TEXT NOT NULL,
     received INTEGER NOT NULL,
     due INTEGER NOT NULL,
     attempts INTEGER NOT NULL DEFAULT 0,
     bytes INTEGER NOT NULL,
     receipt TEXT NOT NULL,
     headers TEXT NOT NULL,
     file TEXT,
     body BLOB
   ) STRICT;
   CREATE INDEX envelopes_due ON envelopes (project, category, due);
   CREATE INDEX envelopes_rank ON envelopes (priority, received);
   CREATE TABLE totals (
     kind TEXT NOT NULL,
     name TEXT NOT NULL,
     category TEXT NOT NULL,
     envelopes INTEGER NOT NULL,
     bytes INTEGER NOT NULL,
     PRIMARY KEY (kind, name, category)
   ) STRICT, WITHOUT ROWID`,
  // What is due later is leased, unless that is when it was put off to: what a predecessor puts off counts as leased until then.
  `ALTER TABLE envelopes ADD COLUMN put_off INTEGER NOT NULL DEFAULT 0;
   CREATE INDEX envelopes_age ON envelopes (project, category, received);
   CREATE TABLE pauses (project TEXT PRIMARY KEY, since INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
]

// Columns that a predecessor can do without: they are no new version, so that it can be started again after a rollback.
const NULLABLE_COLUMNS: Readonly<Record<string, string>> = { wire_bytes: 'INTEGER' }

export const SCHEMA_VERSION = MIGRATIONS.length

/** Throws in words when a newer version wrote it. Four replicas may open a new file at once: whoever comes first makes it. */
export function migrate(db: DatabaseSync, file: string, newId: string): void {
  whenFree(() => db.exec('BEGIN IMMEDIATE'))
  const version = Number(db.prepare('PRAGMA user_version').get()?.user_version)
  if (version > SCHEMA_VERSION) {
    db.exec('ROLLBACK')
    db.close()
    throw new Error(
      `SPOOL_URL: "${file}" was written by a newer Culvert (schema ${version}, this one knows ${SCHEMA_VERSION}); run that version, or let it drain the file first`,
    )
  }
  for (const migration of MIGRATIONS.slice(version)) db.exec(migration)
  addColumns(db)
  if (version === 0) db.prepare('INSERT INTO spool (id) VALUES (?)').run(newId)
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
  db.exec('COMMIT')
}

function addColumns(db: DatabaseSync): void {
  const has = db.prepare("SELECT 1 FROM pragma_table_info('envelopes') WHERE name = ?")
  for (const [name, type] of Object.entries(NULLABLE_COLUMNS))
    if (!has.get(name)) db.exec(`ALTER TABLE envelopes ADD COLUMN ${name} ${type}`)
}
