/** The spool's SQLite file: its schema, and what can be asked of it in one transaction. */

import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { priorityOf } from '../../envelope/priorities.ts'
import type { Lease, ProjectDemand, PutResult, SpoolBounds, SpoolEntry, SpoolTotals } from '../spool.ts'
import { type EntryAdmin, openEntryAdmin } from './admin.ts'
import { whenFree } from './busy-retry.ts'
import { weightOf } from './entry-size.ts'
import { COLUMNS, columnsOf, READ, type Row, readEntry, type Victim } from './rows.ts'
import { migrate } from './schema.ts'
import { type Kind, openTotals, type Partition } from './usage.ts'

/** Synchronous: it lives in a worker thread, since committing blocks. */
export type SqliteStore = Omit<EntryAdmin, 'paused'> & {
  id: string
  /** Runs `work` in one transaction, which is on disk, synced, when this returns. */
  commit<T>(work: () => T): T
  put(envelope: SpoolEntry, body: Uint8Array | undefined, leaseMs: number): PutResult
  take(limit: number, leaseMs: number, wanted: readonly ProjectDemand[]): Lease[]
  /** `undefined` for one that is kept as a file, or is gone. */
  read(id: number): Uint8Array | undefined
  /** Both leave it alone when its lease, which ends at `until`, is somebody else's by now. */
  extend(id: number, until: number, longer: number): void
  postpone(id: number, until: number, at: number): void
  /** `false` when its lease, which ends at `until`, is somebody else's by now, or it is gone. */
  finish(id: number, until: number): boolean
  expire(before: number): Victim[]
  totals(): SpoolTotals
  /** Whether a file of this name holds a body. Names begin with the key, so that no row is looked for among a million. */
  names(file: string): boolean
  close(): void
}

const PRIORITIES_DOWN = [3, 2, 1, 0]

/** Throws in words when the file was written by a newer version. */
export function openSqliteStore(
  file: string,
  bounds: SpoolBounds,
  now: () => number,
  newId: string,
): SqliteStore {
  const db = new DatabaseSync(file)
  whenFree(() => db.exec('PRAGMA journal_mode = WAL'))
  db.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0')
  migrate(db, file, newId)
  const statements = prepare(db)
  const sums = openTotals(db)
  const { paused, ...entryAdmin } = openEntryAdmin({ db, partitions: sums.partitions, forget, now })
  let turns = 0
  return {
    ...entryAdmin,
    id: String(db.prepare('SELECT id FROM spool').get()?.id),
    commit,
    put,
    take,
    read: (id) => bytesOf(statements.body.get(id)?.body),
    extend: (id, until, longer) => void statements.extend.run(longer, id, until),
    postpone: (id, until, at) => void statements.postpone.run(at, at, id, until),
    finish,
    expire,
    totals,
    names: (file) => statements.named.get(file.split('.', 1)[0] ?? '', file) !== undefined,
    close: () => db.close(),
  }

  function commit<T>(work: () => T): T {
    whenFree(() => db.exec('BEGIN IMMEDIATE'))
    try {
      const result = work()
      sums.write()
      db.exec('COMMIT')
      return result
    } catch (error) {
      sums.discard()
      if (db.isTransaction) db.exec('ROLLBACK')
      throw error
    }
  }

  function put(envelope: SpoolEntry, body: Uint8Array | undefined, leaseMs: number): PutResult {
    if (statements.known.get(envelope.key)) return { kind: 'known' }
    const { network, project } = envelope
    const weight = weightOf(envelope)
    if (network !== '' && missing('network', network, weight, bounds.addressShare) > 0)
      return { kind: 'full', reason: 'address-share' }
    const ofIts = choose(
      lanesOf(project, envelope),
      missing('share', project, weight, bounds.projectShare),
      [],
    )
    if (!ofIts) return { kind: 'full', reason: 'project-share' }
    const evicted = choose(ranksBelow(envelope), missing('all', '', weight, 1), ofIts)
    if (!evicted) return { kind: 'full', reason: 'bound' }
    for (const { id } of evicted) forget(id)
    const until = now() + leaseMs
    const { lastInsertRowid } = statements.insert.run(...columnsOf(envelope), until, body ?? null)
    sums.add({ ...envelope, bytes: weight })
    return {
      kind: 'stored',
      lease: { ...envelope, id: Number(lastInsertRowid), attempts: 0, until },
      evicted,
    }
  }

  /** How many bytes have to go before `bytes` more are within a share of the bound. */
  function missing(kind: Kind, name: string, bytes: number, share: number): number {
    if (kind === 'share' && share === 1) return 0 // the only project has the bound itself
    return sums.of(kind, name).bytes + bytes - bounds.bytes * share
  }

  /** Adds candidates to those chosen already, in their order, until `bytes` would be free; nothing when that cannot be. */
  function choose(candidates: Iterable<Row>, bytes: number, chosen: readonly Victim[]): Victim[] | undefined {
    const victims = [...chosen]
    const ids = new Set(victims.map(({ id }) => id))
    let left = victims.reduce((sum, victim) => sum - weightOf(victim), bytes)
    if (left <= 0) return victims
    for (const row of candidates) {
      const victim = readEntry(row)
      if (ids.has(victim.id)) continue
      victims.push(victim)
      left -= weightOf(victim)
      if (left <= 0) return victims
    }
    return undefined
  }

  /** What is less important than the newcomer, the least important and oldest first; never what is as important. */
  function* ranksBelow({ priority }: SpoolEntry): Generator<Row> {
    for (const rank of PRIORITIES_DOWN) if (rank > priority) yield* statements.oldestOf.iterate(rank)
  }

  /** The same within one project. */
  function* lanesOf(project: string, { priority }: SpoolEntry): Generator<Row> {
    const its = partitions().filter(
      ({ name, category }) => name === project && priorityOf(category) > priority,
    )
    for (const { category } of its.toReversed()) yield* statements.ofLane.iterate(project, category)
  }

  /** Lane by lane, a lane being a project's envelopes of one category: what is held back is not even looked at. */
  function take(limit: number, leaseMs: number, wanted: readonly ProjectDemand[]): Lease[] {
    const time = now()
    const until = time + leaseMs
    const leases: Lease[] = []
    const heldBack = new Map(wanted.map((each) => [each.project, each.rateLimitedCategories]))
    for (const { project } of paused()) {
      if (project === undefined) return []
      heldBack.delete(project)
    }
    for (const { name: project, category } of partitions()) {
      if (leases.length >= limit) break
      if (heldBack.get(project)?.includes(category) ?? true) continue
      for (const row of statements.due.all(project, category, time, limit - leases.length)) {
        const entry = readEntry(row)
        statements.lease.run(until, entry.id)
        leases.push({ ...entry, attempts: Number(row.attempts) + 1, until })
      }
    }
    return leases
  }

  /** The most important first; of equal ones another begins each time, so that no project waits for another's flood. */
  function partitions(): Partition[] {
    const all = sums.partitions()
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
      sums.remove({
        project: String(row.project),
        category: String(row.category),
        network: String(row.network),
        bytes: Number(row.bytes),
      })
  }

  function expire(before: number): Victim[] {
    const old = PRIORITIES_DOWN.flatMap((rank) => statements.older.all(rank, before).map(readEntry))
    for (const { id } of old) forget(id)
    return old
  }

  function totals(): SpoolTotals {
    const byProject = sums.byLane()
    const ages = byProject.flatMap(({ oldest }) => oldest ?? [])
    return {
      ...sums.of('all', ''),
      ...(ages.length > 0 && { oldest: Math.min(...ages) }),
      partitions: byProject,
      paused: paused(),
    }
  }
}

function prepare(db: DatabaseSync) {
  return {
    known: db.prepare('SELECT 1 FROM envelopes WHERE key = ?'),
    insert: db.prepare(
      `INSERT INTO envelopes (${COLUMNS}, due, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    due: db.prepare(
      `SELECT ${READ} FROM envelopes WHERE project = ? AND category = ? AND due <= ? ORDER BY due LIMIT ?`,
    ),
    lease: db.prepare('UPDATE envelopes SET due = ?, attempts = attempts + 1 WHERE id = ?'),
    extend: db.prepare('UPDATE envelopes SET due = ? WHERE id = ? AND due = ?'),
    postpone: db.prepare('UPDATE envelopes SET due = ?, put_off = ? WHERE id = ? AND due = ?'),
    leased: db.prepare('SELECT 1 FROM envelopes WHERE id = ? AND due = ?'),
    named: db.prepare('SELECT 1 FROM envelopes WHERE key = ? AND file = ?'),
    ofLane: db.prepare(
      `SELECT ${READ} FROM envelopes WHERE project = ? AND category = ? ORDER BY due LIMIT 10000`,
    ),
    body: db.prepare('SELECT body FROM envelopes WHERE id = ?'),
    remove: db.prepare('DELETE FROM envelopes WHERE id = ? RETURNING project, category, network, bytes'),
    older: db.prepare(
      `SELECT ${READ} FROM envelopes WHERE priority = ? AND received < ? ORDER BY received LIMIT 500`,
    ),
    oldestOf: db.prepare(`SELECT ${READ} FROM envelopes WHERE priority = ? ORDER BY received LIMIT 10000`),
  }
}

function bytesOf(value: SQLOutputValue | undefined): Uint8Array | undefined {
  return value instanceof Uint8Array ? value : undefined
}
