/** Schema of the spool's SQLite file. */

import { DatabaseSync } from 'node:sqlite'
import { ENTRIES_TABLE } from './ended-entries.ts'
import { retryWhileBusy } from './locks.ts'
import { SHARED_TABLES } from './shared-tables.ts'
import { SUMMARIES_TABLE } from './summaries.ts'

// Additive only: two releases share the file during a deploy, and an older one opens it after a rollback.
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
  // An entry with a later `due` is leased, unless `put_off` is equal. Schema 1 does not write `put_off`.
  `ALTER TABLE envelopes ADD COLUMN put_off INTEGER NOT NULL DEFAULT 0;
   CREATE INDEX envelopes_age ON envelopes (project, category, received);
   CREATE TABLE pauses (project TEXT PRIMARY KEY, since INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
]

// A release before this one wrote `wire_bytes`: it compressed bodies again before delivery. The previous one does not know the others.
const NULLABLE_COLUMNS: Readonly<Record<string, string>> = {
  wire_bytes: 'INTEGER',
  event_id: 'TEXT',
  arrived: 'INTEGER',
}
// Tables that the previous release ignores, without a version of their own.
const ADDED_TABLES = [SHARED_TABLES, ENTRIES_TABLE, SUMMARIES_TABLE]

export const SCHEMA_VERSION = MIGRATIONS.length

/** Opens the file, creates it or brings its schema up to date. `newId` names a new file. A newer schema is left as it is. */
export function openDatabase(file: string, newId: string): DatabaseSync {
  const db = new DatabaseSync(file)
  try {
    retryWhileBusy(() => db.exec('PRAGMA journal_mode = WAL'))
    db.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0')
    if (!retryWhileBusy(() => isCurrent(db))) migrate(db, newId)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Returns `true` for a file that needs no change. A paused replica may hold the lock that a change needs. */
function isCurrent(db: DatabaseSync): boolean {
  if (versionOf(db) < SCHEMA_VERSION) return false
  const has = db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?')
  const added = ADDED_TABLES.flatMap((statement) => [...statement.matchAll(/EXISTS (\w+)/g)])
  return added.every(([, name = '']) => has.get(name)) && missingColumns(db).length === 0
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version)
}

function migrate(db: DatabaseSync, newId: string): void {
  retryWhileBusy(() => db.exec('BEGIN IMMEDIATE')) // several replicas may create one file
  const version = versionOf(db)
  for (const migration of MIGRATIONS.slice(version)) db.exec(migration)
  for (const [name, type] of missingColumns(db)) db.exec(`ALTER TABLE envelopes ADD COLUMN ${name} ${type}`)
  for (const statement of ADDED_TABLES) db.exec(statement)
  if (version === 0) db.prepare('INSERT INTO spool (id) VALUES (?)').run(newId)
  if (version < SCHEMA_VERSION) db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`) // a write needs room on the disk
  db.exec('COMMIT')
}

function missingColumns(db: DatabaseSync): [name: string, type: string][] {
  const has = db.prepare("SELECT 1 FROM pragma_table_info('envelopes') WHERE name = ?")
  return Object.entries(NULLABLE_COLUMNS).filter(([name]) => !has.get(name))
}
