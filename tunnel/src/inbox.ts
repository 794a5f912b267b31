/** The inbox: envelopes kept in a SQLite file for a person to read, the newest ones, for a week. */

import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { InboxEntry } from './contract.ts'

export type Inbox = {
  /** Keeps an envelope, unpacked. Throws when the disk does not take it. */
  keep(entry: InboxEntry, envelope: Buffer): void
  /** Newest first. */
  list(limit: number): InboxEntry[]
  read(id: string): Buffer | undefined
  close(): void
}

export type InboxBounds = { envelopes: number; bytes: number; ageMs: number }

export const INBOX_BOUNDS: InboxBounds = {
  envelopes: 10_000,
  bytes: 256 * 1024 * 1024, // 256 MiB
  ageMs: 7 * 24 * 60 * 60 * 1000, // 7 days
}

const BUSY_MS = 5_000 // several replicas share the file

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS inbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    time INTEGER NOT NULL,
    event_id TEXT,
    bytes INTEGER NOT NULL,
    types TEXT NOT NULL,
    envelope BLOB NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS inbox_bytes ON inbox (bytes)`

export function openInbox(file: string, bounds: InboxBounds, now: () => number): Inbox {
  mkdirSync(dirname(file), { recursive: true })
  const db = new DatabaseSync(file, { timeout: BUSY_MS })
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  db.exec(SCHEMA)
  const insert = db.prepare(
    'INSERT INTO inbox (id, time, event_id, bytes, types, envelope) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const newest = db.prepare(
    'SELECT id, time, event_id AS eventId, bytes, types FROM inbox ORDER BY seq DESC LIMIT ?',
  )
  const one = db.prepare('SELECT envelope FROM inbox WHERE id = ?')
  const dropOld = db.prepare('DELETE FROM inbox WHERE time < ?')
  const dropSurplus = db.prepare('DELETE FROM inbox WHERE seq <= (SELECT max(seq) FROM inbox) - ?')
  const total = db.prepare('SELECT coalesce(sum(bytes), 0) AS bytes FROM inbox')
  const dropOldest = db.prepare('DELETE FROM inbox WHERE seq = (SELECT min(seq) FROM inbox) RETURNING bytes')
  return { keep, list, read, close: () => db.close() }

  function keep(entry: InboxEntry, envelope: Buffer): void {
    db.exec('BEGIN IMMEDIATE')
    try {
      insert.run(entry.id, entry.time, entry.eventId, entry.bytes, JSON.stringify(entry.types), envelope)
      trim()
      db.exec('COMMIT')
    } catch (error) {
      db.exec('ROLLBACK')
      throw error
    }
  }

  function trim(): void {
    dropOld.run(now() - bounds.ageMs)
    dropSurplus.run(bounds.envelopes)
    let bytes = Number(total.get()?.bytes)
    while (bytes > bounds.bytes) bytes -= Number(dropOldest.get()?.bytes ?? bytes)
  }

  function list(limit: number): InboxEntry[] {
    return newest.all(limit).map(({ id, time, eventId, bytes, types }) => ({
      id: String(id),
      time: Number(time),
      eventId: eventId === null ? null : String(eventId),
      bytes: Number(bytes),
      types: JSON.parse(String(types)),
    }))
  }

  function read(id: string): Buffer | undefined {
    const envelope = one.get(id)?.envelope
    return envelope instanceof Uint8Array ? Buffer.from(envelope) : undefined
  }
}
