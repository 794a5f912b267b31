/** Previous release of the SQLite spool, with its own statements. */

import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type { SpoolEntry } from '../../../tunnel/src/pipeline/spool.ts'
import { ROOT } from '../node.ts'

const SCHEMA_VERSION = 2
const COLUMNS =
  'key, project, category, priority, network, received, bytes, receipt, headers, file, event_id, arrived'
const READ = `id, attempts, ${COLUMNS}, coalesce(length(body), bytes) AS body_bytes`
const OF_PARTITION = 'INDEXED BY envelopes_age WHERE project = ? AND category = ?'
const STATEMENTS = {
  known: 'SELECT 1 FROM envelopes WHERE key = ?',
  insert: `INSERT INTO envelopes (${COLUMNS}, due, put_off, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  due: `SELECT ${READ} FROM envelopes WHERE project = ? AND category = ? AND due <= ? ORDER BY due LIMIT ?`,
  lease: 'UPDATE envelopes SET due = ?, attempts = attempts + 1 WHERE id = ?',
  extend: 'UPDATE envelopes SET due = ? WHERE id = ? AND due = ?',
  postpone: 'UPDATE envelopes SET due = ?, put_off = ? WHERE id = ? AND due = ?',
  leased: 'SELECT 1 FROM envelopes WHERE id = ? AND due = ?',
  withFile: 'SELECT 1 FROM envelopes WHERE key = ? AND file = ?',
  ofPartition: `SELECT ${READ} FROM envelopes WHERE project = ? AND category = ? ORDER BY due LIMIT 10000`,
  body: 'SELECT body FROM envelopes WHERE id = ?',
  remove: 'DELETE FROM envelopes WHERE id = ? RETURNING project, category, network, bytes',
  older: `SELECT ${READ} FROM envelopes WHERE priority = ? AND received < ? ORDER BY received LIMIT 500`,
  oldestOf: `SELECT ${READ} FROM envelopes WHERE priority = ? ORDER BY received LIMIT 10000`,
  listed: `SELECT ${READ}, due, put_off FROM envelopes ${OF_PARTITION} AND (received, id) > (?, ?) ORDER BY received, id LIMIT ?`,
  retry: `UPDATE envelopes SET due = ? WHERE id IN
    (SELECT id FROM envelopes INDEXED BY envelopes_due WHERE project = ? AND category = ? AND due > ? AND due = put_off LIMIT ?)`,
  oldest: `SELECT min(received) AS received FROM envelopes ${OF_PARTITION}`,
  total: "SELECT envelopes, bytes FROM totals WHERE kind = ? AND name = ? AND category = ''",
  addTotal: `INSERT INTO totals (kind, name, category, envelopes, bytes) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET envelopes = envelopes + excluded.envelopes, bytes = bytes + excluded.bytes`,
  dropEmpty: 'DELETE FROM totals WHERE kind = ? AND name = ? AND category = ? AND envelopes <= 0',
  dead: "SELECT id FROM entries INDEXED BY entries_dead WHERE state <> 'kept' AND stored = 1 ORDER BY ended",
  kept: "SELECT key, body FROM entries INDEXED BY entries_ended WHERE state = 'kept' ORDER BY ended",
  partitions: "SELECT name, category, envelopes, bytes FROM totals WHERE kind = 'lane'",
  pause: 'INSERT INTO pauses (project, since) VALUES (?, ?) ON CONFLICT DO NOTHING',
  resume: 'DELETE FROM pauses WHERE project = ?',
  paused: 'SELECT project, since FROM pauses ORDER BY project',
  id: 'SELECT id FROM spool',
}

type Counted = Pick<SpoolEntry, 'project' | 'category' | 'network' | 'bytes'>

export class PreviousRelease {
  readonly #db: DatabaseSync
  readonly #bodies: string

  /** Rejects a file of a newer schema. Prepares every statement. */
  constructor(file: string) {
    this.#db = new DatabaseSync(file, { timeout: 10_000 })
    this.#bodies = join(dirname(file), 'bodies')
    const version = Number(this.#db.prepare('PRAGMA user_version').get()?.user_version)
    if (version > SCHEMA_VERSION) throw new Error('it was written by a newer Culvert')
    for (const sql of Object.values(STATEMENTS)) this.#db.prepare(sql)
  }

  put(entry: SpoolEntry, body: Buffer): void {
    const { key, project, category, priority, network, received, bytes, receipt, headers } = entry
    this.#transact(() => {
      this.#run('insert', [
        ...[key, project, category, priority, network, received, bytes, receipt],
        ...[JSON.stringify(headers), null, null, null, Date.now(), Date.now(), body],
      ])
      this.#count(entry, 1)
    })
  }

  /** Leases and finishes every entry that is due. Returns the bodies by key. */
  deliverAll(): Map<string, Buffer> {
    const delivered = new Map<string, Buffer>()
    this.#transact(() => {
      for (const { name, category } of this.#all('partitions', []))
        for (const { id, key } of this.#all('due', [String(name), String(category), Date.now(), 100])) {
          this.#run('lease', [Date.now() + 1_000, Number(id)])
          const [stored] = this.#all('body', [Number(id)])
          delivered.set(String(key), Buffer.from(stored?.body as Uint8Array))
          const [removed] = this.#all('remove', [Number(id)])
          this.#count(removed as Counted, -1)
        }
    })
    return delivered
  }

  /** Ends the delivery of entries that arrived before a time. Returns their keys. */
  expire(before: number): string[] {
    const expired = [0, 1, 2, 3].flatMap((priority) => this.#all('older', [priority, before]))
    this.#transact(() => {
      for (const { id } of expired) {
        const [removed] = this.#all('remove', [Number(id)])
        this.#count(removed as Counted, -1)
      }
    })
    return expired.map(({ key }) => String(key))
  }

  /** Removes the files of bodies that no pending entry has, as at its start. */
  removeOrphans(): void {
    for (const name of readdirSync(this.#bodies))
      if (this.#all('withFile', [name.split('.', 1)[0] ?? '', name]).length === 0)
        rmSync(join(this.#bodies, name))
  }

  /** Returns the bodies of kept entries by key. */
  kept(): Map<string, Buffer> {
    return new Map(
      this.#all('kept', []).map(({ key, body }) => [String(key), Buffer.from(body as Uint8Array)]),
    )
  }

  close(): void {
    this.#db.close()
  }

  #count({ project, category, network, bytes }: Counted, sign: 1 | -1): void {
    const totals = [
      ['all', '', ''],
      ['lane', project, category],
      ['share', project, ''],
      ...(network === '' ? [] : [['network', network, '']]),
    ]
    for (const total of totals) {
      this.#run('addTotal', [...total, sign, sign * bytes])
      if (sign < 0) this.#run('dropEmpty', total)
    }
  }

  #transact(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE')
    work()
    this.#db.exec('COMMIT')
  }

  #run(name: keyof typeof STATEMENTS, values: SQLInputValue[]): void {
    this.#db.prepare(STATEMENTS[name]).run(...values)
  }

  #all(name: keyof typeof STATEMENTS, values: SQLInputValue[]) {
    return this.#db.prepare(STATEMENTS[name]).all(...values)
  }
}

/** Writes a file as the previous release leaves it: three pending entries, a dead letter and a kept entry. */
export function writePreviousFile(file: string): void {
  using db = new DatabaseSync(file)
  db.exec(readFileSync(resolve(ROOT, 'tests/fixtures/spool/previous-release.sql'), 'utf8'))
  db.exec(`PRAGMA journal_mode = WAL; UPDATE entries SET ended = ${Date.now()}`)
}
