/** Inbox of the previous release, a SQLite file beside the spool's. Its envelopes become kept entries, also those that old replicas add. */

import { existsSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { formatDsn, INBOX_DSN, parseDsn } from 'contract/dsn'
import { identifyReceipt } from '../../envelope/dedupe-key.ts'
import { parseHeaderLine } from '../../envelope/header-parser.ts'
import { categoriesOf } from '../../envelope/items.ts'
import { mostImportant, priorityOf } from '../../envelope/priorities.ts'
import type { SpoolEntry } from '../../pipeline/spool.ts'
import { readItems } from '../entry-summary.ts'
import { type BodyFiles, bodyName } from './body-files.ts'
import type { EndedEntries } from './ended-entries.ts'
import type { Row } from './entry-row.ts'

const BATCH = 50
const BATCH_BYTES = 1024 * 1024 // of envelopes, except for a single larger one
const LOCK_MS = 100 // this thread also serves live traffic
const NEWLINE = 0x0a

export function formerInboxOf(spoolFile: string): string {
  return join(dirname(spoolFile), 'inbox.db')
}

export class FormerInbox {
  readonly #file: string
  readonly #rowBytes: number
  readonly #ended: EndedEntries
  readonly #files: BodyFiles

  /** `rowBytes` is the size of the largest body in the spool's file. */
  constructor(spoolFile: string, rowBytes: number, ended: EndedEntries, files: BodyFiles) {
    this.#file = formerInboxOf(spoolFile)
    this.#rowBytes = rowBytes
    this.#ended = ended
    this.#files = files
  }

  /**
   * Keeps some envelopes in the transaction of the caller, and deletes from the former file those that earlier transactions have `kept`: a crash
   * loses none, nor does a transaction that is rolled back. Returns what it has kept, or `gone` once there is no former inbox. Throws while the
   * file is locked.
   */
  adoptFormer(kept: readonly string[]): string[] | 'gone' {
    if (!existsSync(this.#file)) return 'gone'
    using db = new DatabaseSync(this.#file, { timeout: LOCK_MS })
    if (!db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'inbox'").get()) return 'gone'
    if (kept.length > 0) remove(db, kept)
    const rows = readBatch(db)
    for (const row of rows) this.#keep(row)
    if (rows.length === 0 && isUnused(db)) return this.#removeFile(db)
    return rows.map(({ id }) => String(id))
  }

  #keep({ id, time, event_id: eventId, network, envelope }: Row): void {
    const body = bytesOf(envelope)
    const project = dsnOf(body)
    const category = mostImportant(readItems([body]).map((item) => categoriesOf(item)[0] ?? ''))
    const key = identifyReceipt(String(id))
    const entry: SpoolEntry = {
      ...{ key, project, category, priority: priorityOf(category), network: String(network) },
      ...{ received: Number(time), bytes: body.length, receipt: String(id), headers: [] },
      ...(typeof eventId === 'string' && { eventId }),
    }
    const ending = { state: 'kept', status: 200 } as const
    if (body.length <= this.#rowBytes) this.#ended.keep(entry, body, ending, entry.received)
    else {
      const file = bodyName(key)
      this.#files.write(file, body)
      if (this.#ended.keep({ ...entry, file }, undefined, ending, entry.received) !== 'stored')
        this.#files.remove(file)
    }
  }

  /** Removes the empty file, which no process has open but this one. */
  #removeFile(db: DatabaseSync): string[] | 'gone' {
    db.exec('BEGIN EXCLUSIVE')
    if (readBatch(db).length > 0) return [] // written since
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.#file + suffix, { force: true })
    return 'gone'
  }
}

function remove(db: DatabaseSync, ids: readonly string[]): void {
  const remove = db.prepare('DELETE FROM inbox WHERE id = ?')
  db.exec('BEGIN IMMEDIATE')
  for (const id of ids) remove.run(id)
  db.exec('COMMIT')
}

function readBatch(db: DatabaseSync): Row[] {
  let left = BATCH_BYTES
  const rows: Row[] = []
  for (const row of db
    .prepare(`SELECT id, time, event_id, network, envelope FROM inbox ORDER BY seq LIMIT ${BATCH}`)
    .iterate()) {
    left -= bytesOf(row.envelope).length
    if (left < 0 && rows.length > 0) break
    rows.push(row)
  }
  return rows
}

/** Returns `true` when no other process has the file open: the write-ahead log can be given up then. */
function isUnused(db: DatabaseSync): boolean {
  try {
    db.exec('PRAGMA busy_timeout = 0') // asked once a second: this thread must not wait each time
    return db.prepare('PRAGMA journal_mode = DELETE').get()?.journal_mode === 'delete'
  } catch {
    return false // locked
  }
}

function bytesOf(value: Row[string] | undefined): Buffer {
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.alloc(0)
}

function dsnOf(envelope: Buffer): string {
  const end = envelope.indexOf(NEWLINE)
  const text = parseHeaderLine(end < 0 ? envelope : envelope.subarray(0, end))?.value.dsn
  const dsn = typeof text === 'string' ? parseDsn(text) : undefined
  return dsn ? formatDsn(dsn) : INBOX_DSN
}
