/** The spool's SQLite file: its schema, and what can be asked of it in one transaction. */

import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite'
import {
  type Lease,
  type PutResult,
  priorityOf,
  type SpoolBounds,
  type SpoolTotals,
  type Waiting,
  type Wanted,
} from './spool.ts'

/** Synchronous: it lives in a worker thread, since committing blocks. */
export type SqliteStore = {
  id: string
  /** Runs `work` in one transaction, which is on disk, synced, when this returns. */
  commit<T>(work: () => T): T
  put(envelope: Waiting, body: Uint8Array | undefined, leaseMs: number): PutResult
  take(limit: number, leaseMs: number, wanted: readonly Wanted[]): Lease[]
  /** `undefined` for one that is kept as a file, or is gone. */
  read(id: number): Uint8Array | undefined
  /** Sets when it is due, unless its lease, which ends at `until`, is somebody else's by now. */
  setDue(id: number, until: number, due: number): void
  /** `false` when its lease, which ends at `until`, is somebody else's by now, or it is gone. */
  finish(id: number, until: number): boolean
  expire(before: number): (Waiting & { id: number })[]
  totals(): SpoolTotals
  /** The files that bodies lie in. */
  files(): Set<string>
  close(): void
}

/** Waits for another replica's transaction this long. */
const BUSY_MS = 10_000
export const SCHEMA_VERSION = 1
const PRIORITIES_DOWN = [3, 2, 1, 0]

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
]

/** Throws in words when the file was written by a newer version. */
export function openSqliteStore(
  file: string,
  bounds: SpoolBounds,
  now: () => number,
  newId: string,
): SqliteStore {
  const db = new DatabaseSync(file, { timeout: BUSY_MS })
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0')
  migrate(db, file, newId)
  db.exec('PRAGMA busy_timeout = 0') // from here on `begin` waits
  const statements = prepare(db)
  const deltas = new Map<string, Total>()
  let turns = 0
  return {
    id: String(db.prepare('SELECT id FROM spool').get()?.id),
    commit,
    put,
    take,
    read: (id) => bytesOf(statements.body.get(id)?.body),
    setDue: (id, until, due) => void statements.setDue.run(due, id, until),
    finish,
    expire,
    totals,
    files: () => new Set(statements.files.all().map(({ file }) => String(file))),
    close: () => db.close(),
  }

  function commit<T>(work: () => T): T {
    begin(db)
    try {
      const result = work()
      writeDeltas()
      db.exec('COMMIT')
      return result
    } catch (error) {
      deltas.clear()
      if (db.isTransaction) db.exec('ROLLBACK')
      throw error
    }
  }

  function put(envelope: Waiting, body: Uint8Array | undefined, leaseMs: number): PutResult {
    if (statements.known.get(envelope.key)) return { kind: 'known' }
    const { network, project, bytes } = envelope
    if (network !== '' && missing('network', network, bytes, bounds.addressShare) > 0)
      return { kind: 'full', why: 'address-share' }
    const ofIts = choose(
      lanesOf(project, envelope),
      missing('share', project, bytes, bounds.projectShare),
      [],
    )
    if (!ofIts) return { kind: 'full', why: 'project-share' }
    const evicted = choose(ranksBelow(envelope), missing('all', '', bytes, 1), ofIts)
    if (!evicted) return { kind: 'full', why: 'bound' }
    for (const { id } of evicted) forget(id)
    const until = now() + leaseMs
    const { lastInsertRowid } = statements.insert.run(...columnsOf(envelope, until), body ?? null)
    count(envelope, 1)
    return {
      kind: 'stored',
      lease: { ...envelope, id: Number(lastInsertRowid), attempts: 0, until },
      evicted,
    }
  }

  /** How many bytes have to go before `bytes` more are within a share of the bound. */
  function missing(kind: string, name: string, bytes: number, share: number): number {
    if (kind === 'share' && share === 1) return 0 // the only project has the bound itself
    return total(kind, name).bytes + bytes - bounds.bytes * share
  }

  /** Adds candidates to those chosen already, in their order, until `bytes` would be free; nothing when that cannot be. */
  function choose(candidates: Iterable<Row>, bytes: number, chosen: readonly Victim[]): Victim[] | undefined {
    const victims = [...chosen]
    const ids = new Set(victims.map(({ id }) => id))
    let left = victims.reduce((sum, victim) => sum - victim.bytes, bytes)
    if (left <= 0) return victims
    for (const row of candidates) {
      const victim = readWaiting(row)
      if (ids.has(victim.id)) continue
      victims.push(victim)
      left -= victim.bytes
      if (left <= 0) return victims
    }
    return undefined
  }

  /** What is less important than the newcomer, the least important and oldest first; never what is as important. */
  function* ranksBelow({ priority }: Waiting): Generator<Row> {
    for (const rank of PRIORITIES_DOWN) if (rank > priority) yield* statements.oldestOf.iterate(rank)
  }

  /** The same within one project. */
  function* lanesOf(project: string, { priority }: Waiting): Generator<Row> {
    const its = lanes().filter(({ name, category }) => name === project && priorityOf(category) > priority)
    for (const { category } of its.toReversed()) yield* statements.ofLane.iterate(project, category)
  }

  /** Lane by lane, a lane being a project's envelopes of one category: what is held back is not even looked at. */
  function take(limit: number, leaseMs: number, wanted: readonly Wanted[]): Lease[] {
    const time = now()
    const until = time + leaseMs
    const leases: Lease[] = []
    const heldBack = new Map(wanted.map((each) => [each.project, each.heldBack]))
    for (const { name: project, category } of lanes()) {
      if (leases.length >= limit) break
      if (heldBack.get(project)?.includes(category) ?? true) continue
      for (const row of statements.due.all(project, category, time, limit - leases.length)) {
        const waiting = readWaiting(row)
        statements.lease.run(until, waiting.id)
        leases.push({ ...waiting, attempts: Number(row.attempts) + 1, until })
      }
    }
    return leases
  }

  /** The most important first; of equal ones another begins each time, so that no project waits for another's flood. */
  function lanes(): { name: string; category: string }[] {
    const all = statements.lanes
      .all()
      .map(({ name, category }) => ({ name: String(name), category: String(category) }))
    const start = turns++ % Math.max(1, all.length)
    const rotated = [...all.slice(start), ...all.slice(0, start)]
    return rotated.sort((a, b) => priorityOf(a.category) - priorityOf(b.category))
  }

  function finish(id: number, until: number): boolean {
    const mine = statements.leased.get(id, until) !== undefined
    if (mine) forget(id)
    return mine
  }

  function forget(id: number): void {
    const row = statements.remove.get(id)
    if (row)
      count(
        {
          project: String(row.project),
          category: String(row.category),
          network: String(row.network),
          bytes: Number(row.bytes),
        },
        -1,
      )
  }

  function expire(before: number): (Waiting & { id: number })[] {
    const old = PRIORITIES_DOWN.flatMap((rank) => statements.older.all(rank, before).map(readWaiting))
    for (const { id } of old) forget(id)
    return old
  }

  function totals(): SpoolTotals {
    const { envelopes, bytes } = total('all', '')
    const oldest = Math.min(
      ...PRIORITIES_DOWN.map((rank) => Number(statements.oldest.get(rank)?.received ?? Infinity)),
    )
    const byProject = statements.byLane.all().map(({ name, category, envelopes, bytes }) => ({
      project: String(name),
      category: String(category),
      envelopes: Number(envelopes),
      bytes: Number(bytes),
    }))
    return { envelopes, bytes, ...(Number.isFinite(oldest) && { oldest }), byProject }
  }

  /** Totals are written once per transaction, however many envelopes it holds. */
  function count(
    { project, category, network, bytes }: Pick<Waiting, 'project' | 'category' | 'network' | 'bytes'>,
    sign: 1 | -1,
  ): void {
    add('all', '', '', sign, sign * bytes)
    add('lane', project, category, sign, sign * bytes)
    add('share', project, '', sign, sign * bytes)
    if (network !== '') add('network', network, '', sign, sign * bytes)
  }

  function add(kind: string, name: string, category: string, envelopes: number, bytes: number): void {
    const key = `${kind}\n${name}\n${category}`
    const delta = deltas.get(key) ?? { kind, name, category, envelopes: 0, bytes: 0 }
    delta.envelopes += envelopes
    delta.bytes += bytes
    deltas.set(key, delta)
  }

  function writeDeltas(): void {
    for (const { kind, name, category, envelopes, bytes } of deltas.values()) {
      statements.addTotal.run(kind, name, category, envelopes, bytes)
      if (envelopes < 0) statements.dropEmpty.run(kind, name, category)
    }
    deltas.clear()
  }

  function total(kind: string, name: string): { envelopes: number; bytes: number } {
    const row = statements.total.get(kind, name)
    const delta = deltas.get(`${kind}\n${name}\n`)
    return {
      envelopes: Number(row?.envelopes ?? 0) + (delta?.envelopes ?? 0),
      bytes: Number(row?.bytes ?? 0) + (delta?.bytes ?? 0),
    }
  }
}

const SLEEPER = new Int32Array(new SharedArrayBuffer(4))
const SQLITE_BUSY = 5

/**
 * Waits for other replicas in short, random pauses: SQLite's own waiting grows to 100 ms, which starves whoever has waited longest.
 */
function begin(db: DatabaseSync): void {
  for (const deadline = performance.now() + BUSY_MS; ; ) {
    try {
      db.exec('BEGIN IMMEDIATE')
      return
    } catch (error) {
      const busy =
        error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY
      if (!busy || performance.now() > deadline) throw error
      Atomics.wait(SLEEPER, 0, 0, 0.5 + Math.random())
    }
  }
}

type Total = { kind: string; name: string; category: string; envelopes: number; bytes: number }
type Row = Record<string, SQLOutputValue>
type Victim = Waiting & { id: number }

/** Four replicas may open a new file at once: whoever comes first makes it. */
function migrate(db: DatabaseSync, file: string, newId: string): void {
  db.exec('BEGIN IMMEDIATE')
  const version = Number(db.prepare('PRAGMA user_version').get()?.user_version)
  if (version > SCHEMA_VERSION) {
    db.exec('ROLLBACK')
    db.close()
    throw new Error(
      `SPOOL_URL: "${file}" was written by a newer Culvert (schema ${version}, this one knows ${SCHEMA_VERSION}); run that version, or let it drain the file first`,
    )
  }
  for (const migration of MIGRATIONS.slice(version)) db.exec(migration)
  if (version === 0) db.prepare('INSERT INTO spool (id) VALUES (?)').run(newId)
  db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`)
  db.exec('COMMIT')
}

const COLUMNS = 'key, project, category, priority, network, received, bytes, receipt, headers, file'

function prepare(db: DatabaseSync) {
  return {
    known: db.prepare('SELECT 1 FROM envelopes WHERE key = ?'),
    insert: db.prepare(
      `INSERT INTO envelopes (${COLUMNS}, due, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    due: db.prepare(
      `SELECT id, attempts, ${COLUMNS} FROM envelopes WHERE project = ? AND category = ? AND due <= ? ORDER BY due LIMIT ?`,
    ),
    lease: db.prepare('UPDATE envelopes SET due = ?, attempts = attempts + 1 WHERE id = ?'),
    setDue: db.prepare('UPDATE envelopes SET due = ? WHERE id = ? AND due = ?'),
    leased: db.prepare('SELECT 1 FROM envelopes WHERE id = ? AND due = ?'),
    files: db.prepare('SELECT file FROM envelopes WHERE file IS NOT NULL'),
    ofLane: db.prepare(
      `SELECT id, ${COLUMNS} FROM envelopes WHERE project = ? AND category = ? ORDER BY due LIMIT 10000`,
    ),
    body: db.prepare('SELECT body FROM envelopes WHERE id = ?'),
    remove: db.prepare('DELETE FROM envelopes WHERE id = ? RETURNING project, category, network, bytes'),
    older: db.prepare(
      `SELECT id, ${COLUMNS} FROM envelopes WHERE priority = ? AND received < ? ORDER BY received LIMIT 500`,
    ),
    oldest: db.prepare('SELECT min(received) AS received FROM envelopes WHERE priority = ?'),
    oldestOf: db.prepare(
      `SELECT id, ${COLUMNS} FROM envelopes WHERE priority = ? ORDER BY received LIMIT 10000`,
    ),
    total: db.prepare("SELECT envelopes, bytes FROM totals WHERE kind = ? AND name = ? AND category = ''"),
    addTotal: db.prepare(
      `INSERT INTO totals (kind, name, category, envelopes, bytes) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET envelopes = envelopes + excluded.envelopes, bytes = bytes + excluded.bytes`,
    ),
    dropEmpty: db.prepare(
      'DELETE FROM totals WHERE kind = ? AND name = ? AND category = ? AND envelopes = 0',
    ),
    lanes: db.prepare("SELECT name, category FROM totals WHERE kind = 'lane'"),
    byLane: db.prepare("SELECT name, category, envelopes, bytes FROM totals WHERE kind = 'lane'"),
  }
}

function columnsOf(envelope: Waiting, due: number): SQLInputValue[] {
  const { key, project, category, priority, network, received, bytes, receipt, headers, file } = envelope
  return [
    key,
    project,
    category,
    priority,
    network,
    received,
    bytes,
    receipt,
    JSON.stringify(headers),
    file ?? null,
    due,
  ]
}

function readWaiting(row: Row): Waiting & { id: number } {
  return {
    id: Number(row.id),
    key: String(row.key),
    project: String(row.project),
    category: String(row.category),
    priority: Number(row.priority),
    network: String(row.network),
    received: Number(row.received),
    bytes: Number(row.bytes),
    receipt: String(row.receipt),
    headers: JSON.parse(String(row.headers)),
    file: row.file === null ? undefined : String(row.file),
  }
}

function bytesOf(value: SQLOutputValue | undefined): Uint8Array | undefined {
  return value instanceof Uint8Array ? value : undefined
}
