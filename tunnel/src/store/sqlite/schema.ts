/** Schema of the spool's SQLite file. */

import { DatabaseSync } from 'node:sqlite'
import { ENTRIES_TABLE } from './ended-entries.ts'
import { retryWhileBusy } from './locks.ts'
import { SHARED_TABLES } from './shared-tables.ts'
import { missingColumns, SUMMARIES_TABLE } from './summaries.ts'

export const SCHEMA_VERSION = 2

/**
 * Pending entries, their totals and pauses. `received` is the time since which an entry is pending, and `arrived` the arrival of one that was
 * resent. An entry with a later `due` is leased, unless `put_off` is equal.
 */
const PENDING_TABLES = `CREATE TABLE IF NOT EXISTS spool (id TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS envelopes (
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
  body BLOB,
  put_off INTEGER NOT NULL DEFAULT 0,
  event_id TEXT,
  arrived INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS envelopes_due ON envelopes (project, category, due);
CREATE INDEX IF NOT EXISTS envelopes_rank ON envelopes (priority, received);
CREATE INDEX IF NOT EXISTS envelopes_age ON envelopes (project, category, received);
CREATE TABLE IF NOT EXISTS totals (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  category TEXT NOT NULL,
  envelopes INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (kind, name, category)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pauses (project TEXT PRIMARY KEY, since INTEGER NOT NULL) STRICT, WITHOUT ROWID`

// Additive only: two releases share the file during a deploy, and an older one opens it after a rollback.
const SCHEMA = [PENDING_TABLES, SHARED_TABLES, ENTRIES_TABLE, SUMMARIES_TABLE].join(';\n')

/** Opens the file, or creates it. `newId` names a new file. A newer schema is left as it is. */
export function openDatabase(file: string, newId: string): DatabaseSync {
  const db = new DatabaseSync(file)
  try {
    retryWhileBusy(() => db.exec('PRAGMA journal_mode = WAL'))
    db.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0')
    if (!retryWhileBusy(() => isCurrent(db))) create(db, newId)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Returns `true` for a file that needs no change. A paused replica may hold the lock that a change needs, and a write needs room on the disk. */
function isCurrent(db: DatabaseSync): boolean {
  const has = db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?')
  const names = SCHEMA.matchAll(/EXISTS (\w+)/g).map(([, name = '']) => name)
  return (
    versionOf(db) >= SCHEMA_VERSION && names.every((name) => has.get(name)) && missingColumns(db).length === 0
  )
}

function create(db: DatabaseSync, newId: string): void {
  retryWhileBusy(() => db.exec('BEGIN IMMEDIATE')) // several replicas may create one file
  db.exec(SCHEMA)
  for (const addColumn of missingColumns(db)) db.exec(addColumn)
  db.prepare('INSERT INTO spool (id) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM spool)').run(newId)
  if (versionOf(db) < SCHEMA_VERSION) db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
  db.exec('COMMIT')
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version)
}
