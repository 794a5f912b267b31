/** How much waits in the spool's SQLite file: in all, by lane, by project and by network, without counting rows. */

import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { PartitionTotals, SpoolEntry } from '../spool.ts'

/** What is counted of an envelope; `bytes` are what it takes of the disk. */
export type Counted = Pick<SpoolEntry, 'project' | 'category' | 'network' | 'bytes'>

/** A project, and one category of what waits of it. */
export type Partition = { name: string; category: string }

/** What has a sum: `all`, a project (`share`), a `network`. */
export type Kind = 'all' | 'share' | 'network'

export type Totals = {
  add(envelope: Counted): void
  remove(envelope: Counted): void
  /** Writes what was added and removed since: once in a transaction, however many envelopes that holds. */
  write(): void
  /** Forgets it: the transaction is rolled back. */
  discard(): void
  /** What is not written yet is in it. */
  of(kind: Kind, name: string): { envelopes: number; bytes: number }
  /** Those that have something waiting. */
  partitions(): Partition[]
  byLane(): PartitionTotals[]
}

type Delta = { kind: string; name: string; category: string; envelopes: number; bytes: number }

export function openTotals(db: DatabaseSync): Totals {
  const statements = prepare(db)
  const deltas = new Map<string, Delta>()
  return {
    add: (envelope) => count(envelope, 1),
    remove: (envelope) => count(envelope, -1),
    write,
    discard: () => deltas.clear(),
    of,
    partitions,
    byLane,
  }

  function count({ project, category, network, bytes }: Counted, sign: 1 | -1): void {
    grow('all', '', '', sign, sign * bytes)
    grow('lane', project, category, sign, sign * bytes)
    grow('share', project, '', sign, sign * bytes)
    if (network !== '') grow('network', network, '', sign, sign * bytes)
  }

  function grow(kind: string, name: string, category: string, envelopes: number, bytes: number): void {
    const key = `${kind}\n${name}\n${category}`
    const delta = deltas.get(key) ?? { kind, name, category, envelopes: 0, bytes: 0 }
    delta.envelopes += envelopes
    delta.bytes += bytes
    deltas.set(key, delta)
  }

  function write(): void {
    for (const { kind, name, category, envelopes, bytes } of deltas.values()) {
      statements.add.run(kind, name, category, envelopes, bytes)
      if (envelopes < 0) statements.dropEmpty.run(kind, name, category)
    }
    deltas.clear()
  }

  function of(kind: Kind, name: string): { envelopes: number; bytes: number } {
    const row = statements.one.get(kind, name)
    const delta = deltas.get(`${kind}\n${name}\n`)
    return {
      envelopes: Number(row?.envelopes ?? 0) + (delta?.envelopes ?? 0),
      bytes: Number(row?.bytes ?? 0) + (delta?.bytes ?? 0),
    }
  }

  function partitions(): Partition[] {
    return statements.partitions
      .all()
      .map(({ name, category }) => ({ name: String(name), category: String(category) }))
  }

  function byLane(): PartitionTotals[] {
    return statements.byLane.all().map(({ name, category, envelopes, bytes }) => ({
      project: String(name),
      category: String(category),
      envelopes: Number(envelopes),
      bytes: Number(bytes),
      ...oldestOf(statements.oldest.get(name ?? null, category ?? null)?.received),
    }))
  }
}

function prepare(db: DatabaseSync) {
  return {
    one: db.prepare("SELECT envelopes, bytes FROM totals WHERE kind = ? AND name = ? AND category = ''"),
    add: db.prepare(
      `INSERT INTO totals (kind, name, category, envelopes, bytes) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET envelopes = envelopes + excluded.envelopes, bytes = bytes + excluded.bytes`,
    ),
    dropEmpty: db.prepare(
      'DELETE FROM totals WHERE kind = ? AND name = ? AND category = ? AND envelopes = 0',
    ),
    partitions: db.prepare("SELECT name, category FROM totals WHERE kind = 'lane'"),
    byLane: db.prepare("SELECT name, category, envelopes, bytes FROM totals WHERE kind = 'lane'"),
    oldest: db.prepare(
      'SELECT min(received) AS received FROM envelopes INDEXED BY envelopes_age WHERE project = ? AND category = ?',
    ),
  }
}

function oldestOf(received: SQLOutputValue | undefined): { oldest?: number } {
  return typeof received === 'number' ? { oldest: received } : {}
}
