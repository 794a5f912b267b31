/** Number and bytes of pending entries: of the spool, by partition, by project and by network, without counting rows. */

import type { DatabaseSync } from 'node:sqlite'
import { networksAround } from 'contract/networks'
import { isMirrorKey } from '../../pipeline/projects.ts'
import type { PartitionTotals, SpoolEntry } from '../../pipeline/spool.ts'
import type { Partition } from '../turns.ts'

/** Part of an entry that is counted. `bytes` is the size on disk. */
export type Counted = Pick<SpoolEntry, 'project' | 'category' | 'network' | 'bytes'>

/** Kind of total, as in the file: the spool, a project (`share`), or a network. Another kind, `lane`, is a partition. */
export type UsageKind = 'all' | 'share' | 'network' | EndedKind | `${EndedKind}-network`
/** Ended entries: dead letters, and kept ones. */
export type EndedKind = 'dead' | 'kept'

type Change = { key: [kind: string, name: string, category: string]; envelopes: number; bytes: number }

/** Totals kept in the file by hand. Triggers would cost 5 to 13 % more CPU for each put: they write four rows for each entry. */
export class Usage {
  readonly #statements: ReturnType<typeof prepare>
  readonly #changes = new Map<string, Change>()

  constructor(db: DatabaseSync) {
    this.#statements = prepare(db)
  }

  /** Counts a pending entry that is added, or removed. */
  countPending({ project, category, network, bytes }: Counted, sign: 1 | -1): void {
    this.#change(['all', '', ''], sign, sign * bytes)
    this.#change(['lane', project, category], sign, sign * bytes)
    this.#change(['share', project, ''], sign, sign * bytes)
    for (const { name } of networksAround(network)) this.#change(['network', name, ''], sign, sign * bytes)
  }

  /** Counts an ended entry that is added, or removed. */
  countEnded(kind: EndedKind, network: string, bytes: number, sign: 1 | -1): void {
    this.#change([kind, '', ''], sign, sign * bytes)
    for (const { name } of networksAround(network))
      this.#change([`${kind}-network`, name, ''], sign, sign * bytes)
  }

  /** Returns the bytes of the ended entries of a network, or of all. */
  bytesOfEnded(kind: EndedKind, network = ''): number {
    return this.of(network === '' ? kind : `${kind}-network`, network).bytes
  }

  /** Writes the changes of a transaction, each total once. */
  write(): void {
    for (const { key, envelopes, bytes } of this.#changes.values()) {
      this.#statements.add.run(...key, envelopes, bytes)
      if (envelopes <= 0) this.#statements.removeEmpty.run(...key)
    }
    this.#changes.clear()
  }

  /** Forgets the changes of a transaction that is rolled back. */
  discard(): void {
    this.#changes.clear()
  }

  /** Returns a total, with the changes of the current transaction. */
  of(kind: UsageKind, name: string): { envelopes: number; bytes: number } {
    const row = this.#statements.one.get(kind, name)
    const change = this.#changes.get(`${kind}\n${name}\n`)
    return {
      envelopes: Number(row?.envelopes ?? 0) + (change?.envelopes ?? 0),
      bytes: Number(row?.bytes ?? 0) + (change?.bytes ?? 0),
    }
  }

  /** Returns the bytes of a project, or of all mirrors, with the changes of the current transaction. */
  bytesOfShare(project: string): number {
    if (!isMirrorKey(project)) return this.of('share', project).bytes
    const changed = [...this.#changes.values()].filter(({ key: [kind] }) => kind === 'share')
    const names = [
      ...this.#statements.shares.all().map(({ name }) => String(name)),
      ...changed.map(({ key }) => key[1]),
    ]
    const mirrors = [...new Set(names)].filter(isMirrorKey)
    return mirrors.reduce((sum, name) => sum + this.of('share', name).bytes, 0)
  }

  /** Returns the partitions that have pending entries. */
  partitions(): Partition[] {
    return this.#statements.partitions
      .all()
      .map(({ project, category }) => ({ project: String(project), category: String(category) }))
  }

  partitionTotals(): PartitionTotals[] {
    return this.#statements.partitions.all().map(({ project, category, envelopes, bytes }) => ({
      project: String(project),
      category: String(category),
      envelopes: Number(envelopes),
      bytes: Number(bytes),
      ...this.#oldestOf(String(project), String(category)),
    }))
  }

  #oldestOf(project: string, category: string): { oldest?: number } {
    const received = this.#statements.oldest.get(project, category)?.received
    return typeof received === 'number' ? { oldest: received } : {}
  }

  #change(key: Change['key'], envelopes: number, bytes: number): void {
    const name = key.join('\n')
    const change = this.#changes.get(name) ?? { key, envelopes: 0, bytes: 0 }
    change.envelopes += envelopes
    change.bytes += bytes
    this.#changes.set(name, change)
  }
}

function prepare(db: DatabaseSync) {
  return {
    one: db.prepare("SELECT envelopes, bytes FROM totals WHERE kind = ? AND name = ? AND category = ''"),
    add: db.prepare(
      `INSERT INTO totals (kind, name, category, envelopes, bytes) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET envelopes = envelopes + excluded.envelopes, bytes = bytes + excluded.bytes`,
    ),
    removeEmpty: db.prepare(
      // Below 0: earlier releases have counted no network around that of an entry.
      'DELETE FROM totals WHERE kind = ? AND name = ? AND category = ? AND envelopes <= 0',
    ),
    shares: db.prepare("SELECT name FROM totals WHERE kind = 'share'"),
    partitions: db.prepare(
      "SELECT name AS project, category, envelopes, bytes FROM totals WHERE kind = 'lane'",
    ),
    oldest: db.prepare(
      'SELECT min(received) AS received FROM envelopes INDEXED BY envelopes_age WHERE project = ? AND category = ?',
    ),
  }
}
