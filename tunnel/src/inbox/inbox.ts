/** The inbox: envelopes kept in a SQLite file for a person to read, the newest ones, for a week. */

import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { InboxEntry, InboxPage } from '../contract.ts'
import { retryWhileBusy } from '../spool/sqlite/locks.ts'

export type Inbox = {
  /**
   * Keeps an envelope, unpacked; `network` is its sender's, empty when unknown. Throws when the disk does not take it, or it is larger
   * than one sender's share.
   */
  keep(entry: InboxEntry, network: string, envelope: Buffer): void
  /** Newest first, from the one after `after` on, which is the `next` of the page before; with `type`, those that have such an item. */
  list(limit: number, after?: number, type?: string): InboxPage
  /** The envelope, or its `first` bytes. */
  read(id: string, first?: number): Buffer<ArrayBuffer> | undefined
  /** Bytes of an envelope. */
  size(id: string): number | undefined
  count(): number
  /** `false` when it was not there. */
  delete(id: string): boolean
  /** Those that are there when it begins, some at a time; gives how many there were. */
  deleteAll(): Promise<number>
  close(): void
}

export type InboxBounds = {
  envelopes: number
  bytes: number
  /** The part of both that one address may fill. */
  addressShare: number
  ageMs: number
}

export const INBOX_BOUNDS: InboxBounds = {
  envelopes: 10_000,
  bytes: 256 * 1024 * 1024, // 256 MiB
  addressShare: 0.05,
  ageMs: 7 * 24 * 60 * 60 * 1000, // 7 days
}

type Row = Record<string, SQLOutputValue>

const BUSY_MS = 5_000 // several replicas share the file
const MOST_TYPES = 100 // told of one envelope, as its sender wrote them: a thousand items may have names of 64 KiB each
const TYPE_LENGTH = 64
const AT_A_TIME = 50 // deleted at one time: the event loop waits

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
  retryWhileBusy(() => db.exec('PRAGMA journal_mode = WAL')) // for this SQLite does not wait by itself
  db.exec('PRAGMA synchronous = FULL')
  migrate(db)
  const insert = db.prepare(
    'INSERT INTO inbox (id, time, event_id, bytes, types, network, envelope) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  const newest = db.prepare(
    'SELECT seq, id, time, event_id, bytes, types FROM inbox WHERE seq < ? ORDER BY seq DESC LIMIT ?',
  )
  const newestWith = db.prepare(
    'SELECT seq, id, time, event_id, bytes, types FROM inbox WHERE seq < ? AND instr(types, ?) > 0 ORDER BY seq DESC LIMIT ?',
  )
  const one = db.prepare('SELECT envelope FROM inbox WHERE id = ?')
  const beginning = db.prepare('SELECT substr(envelope, 1, ?) AS envelope FROM inbox WHERE id = ?')
  const sizeOfOne = db.prepare('SELECT length(envelope) AS bytes FROM inbox WHERE id = ?')
  const dropOld = db.prepare('DELETE FROM inbox WHERE time < ?')
  const ofNetwork = db.prepare(
    'SELECT count(*) AS envelopes, coalesce(sum(bytes), 0) AS bytes FROM inbox WHERE network = ?',
  )
  const dropOldestOf = db.prepare(
    'DELETE FROM inbox WHERE seq = (SELECT min(seq) FROM inbox WHERE network = ?) RETURNING bytes',
  )
  const total = db.prepare('SELECT count(*) AS envelopes, coalesce(sum(bytes), 0) AS bytes FROM inbox')
  const dropOldest = db.prepare('DELETE FROM inbox WHERE seq = (SELECT min(seq) FROM inbox) RETURNING bytes')
  const deleteOne = db.prepare('DELETE FROM inbox WHERE id = ?')
  const newestSeq = db.prepare('SELECT max(seq) AS seq FROM inbox')
  const deleteSome = db.prepare(
    `DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox WHERE seq <= ? ORDER BY seq LIMIT ${AT_A_TIME})`,
  )
  return {
    keep,
    list,
    read,
    size,
    count: () => Number(total.get()?.envelopes),
    delete: (id) => deleteOne.run(id).changes > 0,
    deleteAll,
    close: () => db.close(),
  }

  function keep(entry: InboxEntry, network: string, envelope: Buffer): void {
    const { id, time, event_id: eventId, bytes, types } = entry
    if (bytes > bounds.bytes * shareOf(network)) throw new Error('It is larger than its share of the inbox.')
    db.exec('BEGIN IMMEDIATE')
    try {
      const told = types.slice(0, MOST_TYPES).map((type) => type.slice(0, TYPE_LENGTH))
      insert.run(id, time, eventId, bytes, JSON.stringify(told), network, envelope)
      trim(network)
      db.exec('COMMIT')
    } catch (error) {
      db.exec('ROLLBACK')
      throw error
    }
  }

  function shareOf(network: string): number {
    return network === '' ? 1 : bounds.addressShare
  }

  function trim(network: string): void {
    dropOld.run(now() - bounds.ageMs)
    if (network !== '') dropBeyond(shareOf(network), ofNetwork.get(network), () => dropOldestOf.get(network))
    dropBeyond(1, total.get(), () => dropOldest.get())
  }

  /** Whoever sends more than their share loses the oldest of their own. */
  function dropBeyond(share: number, held: Row | undefined, drop: () => Row | undefined): void {
    let [envelopes, bytes] = [Number(held?.envelopes), Number(held?.bytes)]
    for (; envelopes > bounds.envelopes * share || bytes > bounds.bytes * share; envelopes--)
      bytes -= Number(drop()?.bytes ?? bytes)
  }

  function list(limit: number, after = Number.MAX_SAFE_INTEGER, type?: string): InboxPage {
    const rows =
      type === undefined ? newest.all(after, limit) : newestWith.all(after, JSON.stringify(type), limit)
    const last = rows.length === limit ? rows.at(-1) : undefined
    return { entries: rows.map(readEntry), ...(last && { next: Number(last.seq) }) }
  }

  async function deleteAll(): Promise<number> {
    const newest = newestSeq.get()?.seq ?? null
    for (let deleted = 0; ; await nextTurn()) {
      const { changes } = deleteSome.run(newest)
      deleted += Number(changes)
      if (changes < AT_A_TIME) return deleted
    }
  }

  function size(id: string): number | undefined {
    const row = sizeOfOne.get(id)
    return row && Number(row.bytes)
  }

  function read(id: string, first?: number): Buffer<ArrayBuffer> | undefined {
    const envelope = (first === undefined ? one.get(id) : beginning.get(first, id))?.envelope
    if (!(envelope instanceof Uint8Array)) return undefined
    return Buffer.from(envelope.buffer, envelope.byteOffset, envelope.byteLength) // a view: it may be 100 MiB
  }
}

function readEntry({ id, time, event_id: eventId, bytes, types }: Row): InboxEntry {
  return {
    id: String(id),
    time: Number(time),
    event_id: eventId === null || eventId === undefined ? null : String(eventId),
    bytes: Number(bytes),
    types: JSON.parse(String(types)),
  }
}

/** A file of before there were shares has no network yet. Several replicas may open it at once. */
function migrate(db: DatabaseSync): void {
  db.exec('BEGIN IMMEDIATE')
  db.exec(SCHEMA)
  const has = db.prepare("SELECT 1 FROM pragma_table_info('inbox') WHERE name = 'network'").get()
  if (!has) db.exec("ALTER TABLE inbox ADD COLUMN network TEXT NOT NULL DEFAULT ''")
  db.exec('CREATE INDEX IF NOT EXISTS inbox_network ON inbox (network, bytes)')
  db.exec('COMMIT')
}
