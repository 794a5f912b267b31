/** Inbox: the newest envelopes in a SQLite file, for a person to read. */

import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { InboxGroups, InboxPage } from 'contract/inbox'
import { networksAround } from 'contract/networks'
import { LockWait, rejectSpecialFile, retryWhileBusy } from '../spool/sqlite/locks.ts'
import { createSummaries, type InboxQuery, Summaries } from './search.ts'
import type { Span } from './simulated-outage.ts'
import { summariseStored } from './stored.ts'
import type { Summary } from './summary.ts'

/** Envelope to store, unpacked. */
export type NewEntry = {
  id: string
  /** Time of arrival, in milliseconds since 1970. */
  time: number
  eventId: string | null
  types: readonly string[]
  summary: Summary
  envelope: Uint8Array
}

/** Position in the list, and what to select. */
export type PageQuery = InboxQuery & { after?: number | undefined }

export type InboxBounds = {
  envelopes: number
  bytes: number
  /** Share of both that one client address may fill. */
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

const ALWAYS: Span = { from: 0, until: Number.MAX_SAFE_INTEGER }

const MAX_TYPES = 100 // a sender may name a thousand types of 64 KiB
const MAX_TYPE_LENGTH = 64
const DELETE_BATCH = 50 // envelopes in one turn of the event loop

const SUMMARY_BATCH = 50 // summaries in one transaction
const MAX_READ_BYTES = 4 * 1024 * 1024 // larger envelopes of earlier releases keep their default summaries

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS inbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    time INTEGER NOT NULL,
    event_id TEXT,
    bytes INTEGER NOT NULL,
    types TEXT NOT NULL,
    envelope BLOB NOT NULL
  ) STRICT`

export class Inbox {
  /** Equal for all replicas that share the file. */
  readonly id: string
  readonly #db: DatabaseSync
  readonly #lockWait = new LockWait()
  readonly #statements: ReturnType<typeof prepare>
  readonly #summaries: Summaries
  readonly #bounds: InboxBounds
  readonly #now: () => number

  /** Opens the file, or creates it. `now` is in milliseconds since 1970. */
  constructor(file: string, bounds: InboxBounds, now: () => number) {
    mkdirSync(dirname(file), { recursive: true })
    rejectSpecialFile(file, 'INBOX_FILE')
    this.#db = new DatabaseSync(file)
    retryWhileBusy(() => this.#db.exec('PRAGMA journal_mode = WAL'))
    this.#db.exec('PRAGMA synchronous = FULL')
    if (!retryWhileBusy(() => isCurrent(this.#db))) migrate(this.#db)
    this.#statements = prepare(this.#db)
    this.#summaries = new Summaries(this.#db)
    this.id = this.#summaries.inbox
    this.#bounds = bounds
    this.#now = now
  }

  /**
   * Stores an envelope, unless it is there already. `network` is its sender's, empty when unknown. Throws when the disk fails, or the envelope is larger than the
   * share of one client address.
   */
  keep({ id, time, eventId, types, summary, envelope }: NewEntry, network: string): void {
    const cut = JSON.stringify(types.slice(0, MAX_TYPES).map((type) => type.slice(0, MAX_TYPE_LENGTH)))
    const summaryBytes = bytesOf(summary, cut)
    if (envelope.length + summaryBytes > shareOf(network, this.#bounds))
      throw new Error('It is larger than the share of one client address in the inbox.')
    this.#commit(() => {
      const { insert } = this.#statements
      const { lastInsertRowid, changes } = insert.run(
        ...[id, time, eventId, envelope.length, summaryBytes, cut, network, envelope],
      )
      if (changes === 0) return
      this.#summaries.add(lastInsertRowid, cut, summary)
      this.#trim(network)
    })
  }

  /** Lists the newest envelopes after the position `after`, the `next` of the previous page. */
  list(limit: number, { after = Number.MAX_SAFE_INTEGER, ...query }: PageQuery = {}): InboxPage {
    return this.#summaries.entries(query, limit, after)
  }

  /** Lists groups of envelopes, the last updated one first. */
  groups(limit: number, { after = Number.MAX_SAFE_INTEGER, ...query }: PageQuery = {}): InboxGroups {
    return this.#summaries.groups(query, limit, after)
  }

  /** Returns an envelope, or its `first` bytes. */
  read(id: string, first?: number): Buffer<ArrayBuffer> | undefined {
    const { one, beginning } = this.#statements
    const envelope = (first === undefined ? one.get(id) : beginning.get(first, id))?.envelope
    if (!(envelope instanceof Uint8Array)) return undefined
    return Buffer.from(envelope.buffer, envelope.byteOffset, envelope.byteLength) // a view, not a copy
  }

  /** Returns the bytes of an envelope. */
  size(id: string): number | undefined {
    const row = this.#statements.size.get(id)
    return row && Number(row.bytes)
  }

  /** Counts the envelopes, or those that arrived in a span of time. */
  count({ from, until }: Span = ALWAYS): number {
    return Number(this.#statements.arrived.get(from, until)?.envelopes)
  }

  /** Returns `false` when there is no such envelope. */
  delete(id: string): boolean {
    return this.write(() => this.#statements.deleteOne.run(id)).changes > 0
  }

  /** Deletes the envelopes that are stored now, in batches. Returns their number. */
  async deleteAll(): Promise<number> {
    const newest = this.#statements.newestSeq.get()?.seq ?? null
    for (let deleted = 0; ; await nextTurn()) {
      const { changes } = this.write(() => this.#statements.deleteBatch.run(newest))
      deleted += Number(changes)
      if (changes < DELETE_BATCH) return deleted
    }
  }

  /** Summarises envelopes of earlier releases, one in each turn of the event loop, until all are read or the inbox is closed. */
  async summariseOld(): Promise<void> {
    const writes: (() => void)[] = []
    const writeAll = () => {
      for (const write of writes.splice(0)) write()
    }
    for (const seq of this.#summaries.withDefaults()) {
      await nextTurn()
      if (!this.#db.isOpen) return
      const write = this.#summariseAt(seq)
      if (write) writes.push(write)
      if (writes.length === SUMMARY_BATCH) this.#commit(writeAll)
    }
    this.#commit(writeAll)
  }

  /** Returns a function that stores the summary. */
  #summariseAt(seq: number): (() => void) | undefined {
    const row = this.#statements.stored.get(seq, MAX_READ_BYTES)
    if (!(row?.envelope instanceof Uint8Array)) return undefined
    const eventId = typeof row.event_id === 'string' ? row.event_id : null
    const summary = summariseStored({ id: String(row.id), event_id: eventId }, Buffer.from(row.envelope))
    if (!summary) return undefined
    const types = String(row.types)
    return () => {
      this.#summaries.add(seq, types, summary)
      this.#statements.setSummaryBytes.run(bytesOf(summary, types), seq)
    }
  }

  close(): void {
    this.#db.close()
  }

  /** Runs `work`, which may have to wait for other replicas. */
  write<T>(work: () => T): T {
    this.#lockWait.begin()
    return this.#lockWait.run(work)
  }

  /** Runs `work` in one transaction. */
  #commit(work: () => void): void {
    this.write(() => this.#db.exec('BEGIN IMMEDIATE'))
    try {
      work()
      this.#db.exec('COMMIT')
    } catch (error) {
      this.#db.exec('ROLLBACK')
      throw error
    }
  }

  #trim(network: string): void {
    const { deleteOld, ofNetwork, deleteOldestOf, total, deleteOldest } = this.#statements
    deleteOld.run(this.#now() - this.#bounds.ageMs)
    for (const { name, factor } of networksAround(network)) {
      const share = Math.min(1, this.#bounds.addressShare * factor)
      // Stored names are those of the smallest networks; they begin with the name of each network around them.
      const last = name === network ? name : `${name}~`
      this.#deleteBeyond(share, ofNetwork.get(name, last), () => deleteOldestOf.get(name, last))
    }
    this.#deleteBeyond(1, total.get(), () => deleteOldest.get())
  }

  #deleteBeyond(share: number, usage: Row | undefined, deleteNext: () => Row | undefined): void {
    const maxEnvelopes = this.#bounds.envelopes * share
    const maxBytes = this.#bounds.bytes * share
    let [envelopes, bytes] = [Number(usage?.envelopes), Number(usage?.bytes)]
    for (; envelopes > maxEnvelopes || bytes > maxBytes; envelopes--)
      bytes -= Number(deleteNext()?.bytes ?? bytes)
  }
}

/** Returns the bytes that the envelopes of one client address may fill. */
export function shareOf(network: string, { bytes, addressShare }: InboxBounds = INBOX_BOUNDS): number {
  return network === '' ? bytes : bytes * addressShare
}

/** Returns the bytes of a summary. The types, a JSON list, are stored twice. */
function bytesOf(summary: Summary, types: string): number {
  const texts = Object.values(summary).filter((value) => typeof value === 'string')
  return [...texts, types, types].reduce((sum, each) => sum + Buffer.byteLength(each), 0)
}

function prepare(db: DatabaseSync) {
  const inNetwork = 'WHERE network BETWEEN ? AND ?'
  const usage = 'SELECT count(*) AS envelopes, coalesce(sum(bytes + summary_bytes), 0) AS bytes FROM inbox'
  const oldest = (where: string) =>
    `DELETE FROM inbox WHERE seq = (SELECT min(seq) FROM inbox ${where}) RETURNING bytes + summary_bytes AS bytes`
  return {
    insert: db.prepare(
      'INSERT OR IGNORE INTO inbox (id, time, event_id, bytes, summary_bytes, types, network, envelope) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    setSummaryBytes: db.prepare('UPDATE inbox SET summary_bytes = ? WHERE seq = ?'),
    one: db.prepare('SELECT envelope FROM inbox WHERE id = ?'),
    beginning: db.prepare('SELECT substr(envelope, 1, ?) AS envelope FROM inbox WHERE id = ?'),
    stored: db.prepare('SELECT id, event_id, types, envelope FROM inbox WHERE seq = ? AND bytes <= ?'),
    size: db.prepare('SELECT length(envelope) AS bytes FROM inbox WHERE id = ?'),
    total: db.prepare(usage),
    arrived: db.prepare('SELECT count(*) AS envelopes FROM inbox WHERE time >= ? AND time < ?'),
    ofNetwork: db.prepare(`${usage} ${inNetwork}`),
    deleteOld: db.prepare('DELETE FROM inbox WHERE time < ?'),
    deleteOldest: db.prepare(oldest('')),
    deleteOldestOf: db.prepare(oldest(inNetwork)),
    deleteOne: db.prepare('DELETE FROM inbox WHERE id = ?'),
    newestSeq: db.prepare('SELECT max(seq) AS seq FROM inbox'),
    deleteBatch: db.prepare(
      `DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox WHERE seq <= ? ORDER BY seq LIMIT ${DELETE_BATCH})`,
    ),
  }
}

/** Columns that earlier releases do not have. */
const ADDED_COLUMNS = { network: "TEXT NOT NULL DEFAULT ''", summary_bytes: 'INTEGER NOT NULL DEFAULT 0' }

const INDEXES = `
  DROP INDEX IF EXISTS inbox_bytes;
  DROP INDEX IF EXISTS inbox_network;
  CREATE INDEX IF NOT EXISTS inbox_usage ON inbox (bytes, summary_bytes);
  CREATE INDEX IF NOT EXISTS inbox_usage_by_network ON inbox (network, bytes, summary_bytes)`

/** Counts the changes of the schema, which are additive. */
const SCHEMA_VERSION = 1

/** Returns `true` for a file that needs no change. A paused replica may hold the lock that a change needs. */
function isCurrent(db: DatabaseSync): boolean {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version) >= SCHEMA_VERSION
}

/** Creates the schema. */
function migrate(db: DatabaseSync): void {
  retryWhileBusy(() => db.exec('BEGIN IMMEDIATE')) // several replicas may open the file at once
  db.exec(SCHEMA)
  const columns = db.prepare("SELECT name FROM pragma_table_info('inbox')").all()
  for (const [name, type] of Object.entries(ADDED_COLUMNS))
    if (!columns.some((column) => column.name === name))
      db.exec(`ALTER TABLE inbox ADD COLUMN ${name} ${type}`)
  db.exec(INDEXES)
  createSummaries(db)
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
  db.exec('COMMIT')
}
