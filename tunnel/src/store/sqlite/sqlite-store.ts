/** Spool entries in the SQLite file. Synchronous: it runs in a worker thread, since a commit blocks. */

import type { DatabaseSync } from 'node:sqlite'
import { priorityOf } from '../../envelope/priorities.ts'
import { BoundedMap } from '../../pipeline/bounded-map.ts'
import { isMirrorKey } from '../../pipeline/projects.ts'
import {
  type EndedEntry,
  type EndedFilter,
  type EndedPlace,
  type Ending,
  type Lease,
  LONGEST_DELAY_MS,
  LONGEST_LEASE_MS,
  type ProjectDemand,
  type PutResult,
  pendingSince,
  type Resent,
  type SpoolBounds,
  type SpoolEntry,
  type SpoolTotals,
} from '../../pipeline/spool.ts'
import { networkShares } from '../bounds.ts'
import { type Partition, selectWanted, Turns } from '../turns.ts'
import { EntryAdmin } from './admin.ts'
import { BodyFiles } from './body-files.ts'
import { isDamage } from './damaged-files.ts'
import { EndedEntries } from './ended-entries.ts'
import {
  bodyOf,
  COLUMNS,
  columnsOf,
  diskBytesOf,
  PAGE_BYTES,
  type Row,
  readEntry,
  SELECTED,
  type StoredEntry,
} from './entry-row.ts'
import { LockWait } from './locks.ts'
import { openDatabase } from './schema.ts'
import { SharedTables } from './shared-tables.ts'
import type { Space } from './space.ts'
import { Summaries } from './summaries.ts'
import { Usage, type UsageKind } from './usage.ts'
import { WriteAheadLog } from './write-ahead-log.ts'

const PRIORITIES_DOWN = [3, 2, 1, 0]
const MAX_RESENT = 100 // in one transaction
const MAX_UNREMOVABLE = 100_000
const COUNTED = 'project, category, network, bytes, file'

export type StoreBounds = Omit<SpoolBounds, 'bytes'> & Space

export class SqliteStore {
  readonly id: string
  readonly log: WriteAheadLog
  readonly lockWait = new LockWait()
  readonly admin: EntryAdmin
  readonly entries: EndedEntries
  readonly summaries: Summaries
  readonly files: BodyFiles
  readonly state: SharedTables
  /** Set once a call has met damage. From then on nothing is pruned. */
  isDamaged = false
  /** Partitions and priorities whose entries could not be read or leased. */
  readonly #damaged = new Set<string>()
  /** Entries whose delivery has ended, but whose rows could not be removed. */
  readonly #unremovable = new BoundedMap<number, true>(MAX_UNREMOVABLE)
  readonly #db: DatabaseSync
  readonly #statements: ReturnType<typeof prepare>
  readonly #usage: Usage
  readonly #bounds: StoreBounds
  readonly #turns = new Turns()

  constructor(file: string, bounds: StoreBounds, newId: string) {
    this.#db = openDatabase(file, newId)
    this.id = String(this.#db.prepare('SELECT id FROM spool').get()?.id)
    this.#usage = new Usage(this.#db)
    this.admin = new EntryAdmin(this.#db, this.#usage, (id) => this.#remove(id))
    this.files = new BodyFiles(file)
    this.summaries = new Summaries(this.#db)
    this.entries = new EndedEntries(this.#db, this.#usage, this.files, this.summaries, bounds)
    this.state = new SharedTables(this.#db)
    this.#statements = prepare(this.#db)
    this.#bounds = bounds
    this.log = new WriteAheadLog(this.#db, file, bounds.walBytes, new LockWait())
  }

  /** Runs `work`, which writes nothing, in a transaction that needs no lock of writers. */
  view<T>(work: () => T): T {
    this.#db.exec('BEGIN')
    try {
      return work()
    } finally {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
    }
  }

  /** Runs `work` in one transaction, which is on disk, synced, when this returns. */
  commit<T>(work: () => T): T {
    this.lockWait.run(() => this.#db.exec('BEGIN IMMEDIATE'))
    let result: T
    try {
      result = work()
      this.#usage.write()
      this.#db.exec('COMMIT')
    } catch (error) {
      this.#usage.discard()
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      this.files.rollback()
      throw error
    }
    this.files.commit()
    return result
  }

  /** Writes a first `put_off` to which the end of no lease is equal, so that the row keeps its length when it is postponed. */
  put(entry: SpoolEntry, body: Uint8Array | undefined, leaseMs: number): PutResult {
    const { key, network, project } = entry
    if (this.#statements.known.get(key)) return { kind: 'known' }
    const bytes = diskBytesOf(entry)
    if (this.#isShareReached(network, bytes)) return { kind: 'full', reason: 'address-share' }
    const ofProject = chooseVictims(
      this.#lessImportantOfProject(entry),
      this.#projectExcess(project, bytes),
      [],
    )
    if (!ofProject) return { kind: 'full', reason: 'project-share' }
    const excess = this.#excess('all', '', bytes, 1)
    this.entries.giveWay(excess)
    const evicted = chooseVictims(this.#lessImportant(entry), excess, ofProject)
    if (!evicted) return { kind: 'full', reason: 'bound' }
    for (const { id } of evicted) {
      this.entries.add(id, { state: 'evicted' })
      this.#remove(id)
    }
    const lease = this.#insert(entry, body, bytes, leaseMs)
    return { kind: 'stored', lease, evicted }
  }

  #insert(entry: SpoolEntry, body: Uint8Array | undefined, bytes: number, leaseMs: number): Lease {
    const until = Date.now() + leaseMs
    const putOff = leaseMs > 0 ? pendingSince(entry) : until
    const { lastInsertRowid } = this.#statements.insert.run(...columnsOf(entry), until, putOff, body ?? null)
    this.#usage.countPending({ ...entry, bytes }, 1)
    return { ...entry, id: Number(lastInsertRowid), attempts: 0, until }
  }

  /** Makes some ended entries pending. The files of large bodies are shared with kept entries. */
  resend(filter: EndedFilter, limit: number, after?: EndedPlace): Resent {
    const found = this.entries.oldest(filter, MAX_RESENT, after)
    const entries: SpoolEntry[] = []
    const resent = Date.now()
    let last: EndedEntry | undefined
    for (const ended of found) {
      if (entries.length >= limit) break
      last = ended
      const { id, key, network, project, file } = ended
      if (this.#statements.known.get(key)) {
        this.entries.noteResent(ended, resent)
        continue
      }
      const entry: SpoolEntry = { ...ended, resent }
      const bytes = diskBytesOf(entry)
      const isFull = this.#excess('all', '', this.entries.deadBytes() + bytes, 1) > 0
      if (isFull || this.#isShareReached(network, bytes) || this.#projectExcess(project, bytes) > 0) continue
      const body = this.entries.read(id, key)
      const pendingFile = file === undefined ? undefined : this.files.resend(file, key)
      if (!body && pendingFile === undefined) {
        this.entries.remove(id)
        continue
      }
      this.entries.noteResent(ended, resent)
      this.#insert({ ...entry, file: pendingFile }, body, bytes, 0)
      entries.push({ ...entry, file: pendingFile })
    }
    return { entries, isOver: !last, ...(last && { after: { ended: last.ended, id: last.id } }) }
  }

  /** Leases due entries partition by partition, without reading those that are held back. Takes fewer large ones, to keep the log short. */
  take(limit: number, leaseMs: number, demands: readonly ProjectDemand[]): Lease[] {
    const now = Date.now()
    const until = now + leaseMs
    const leases: Lease[] = []
    let room = Math.max(this.#bounds.walBytes / 2, this.#bounds.rowBytes)
    for (const partition of selectWanted(this.#partitions(), demands, this.admin.paused())) {
      if (leases.length >= limit || room <= 0) break
      this.#passByDamage(`${partition.project} ${partition.category}`, () => {
        for (const row of this.#due(partition, now, limit - leases.length)) {
          const entry = readEntry(row)
          if (this.#unremovable.has(entry.id)) {
            this.#statements.lease.run(now + LONGEST_LEASE_MS, entry.id) // others come first
            continue
          }
          if (entry.file === undefined) room -= entry.bytes // a longer number of attempts writes the whole row
          if (room < 0 && leases.length > 0) break
          leases.push(this.#lease(row, until))
        }
      })
    }
    return leases
  }

  /**
   * Does nothing for a part of the entries that has met damage before, so that others are still delivered, and expire. The first time, the
   * call fails: SQLite writes nothing more in a transaction that has met damage.
   */
  #passByDamage(part: string, work: () => void): void {
    if (this.#damaged.has(part)) return
    try {
      work()
    } catch (error) {
      if (isDamage(error)) {
        this.#damaged.add(part)
        this.isDamaged = true
      }
      throw error
    }
  }

  #lease(row: Row, until: number): Lease {
    const entry = readEntry(row)
    this.#statements.lease.run(until, entry.id)
    return { ...entry, attempts: Number(row.attempts) + 1, until }
  }

  /** Lists due entries, also those whose time was written before the clock was set back. */
  #due({ project, category }: Partition, now: number, limit: number): Row[] {
    const { due, tooLate } = this.#statements
    const rows = due.all(project, category, now, limit)
    if (rows.length === limit) return rows
    const latest = [now + LONGEST_DELAY_MS, now + LONGEST_LEASE_MS]
    return [...rows, ...tooLate.all(project, category, ...latest, limit - rows.length)]
  }

  /** Returns `undefined` when the body is a file, or the entry is gone. */
  read(id: number): Uint8Array | undefined {
    return bodyOf(this.#statements.body.get(id))
  }

  /** Leaves the entry alone when its lease, which ends at `until`, was lost. So does `postpone`. */
  extend(id: number, until: number, newUntil: number): void {
    this.#statements.extend.run(newUntil, id, until)
  }

  postpone(id: number, until: number, at: number): void {
    const due = Math.min(at, Date.now() + LONGEST_DELAY_MS)
    this.#statements.postpone.run(due, due, id, until)
  }

  /**
   * Returns `false` when the lease, which ends at `until`, was lost. `bytes` are those of a body that is copied. An entry that damage keeps in
   * the file is not leased again before a restart: it would be delivered each time.
   */
  finish(id: number, until: number, ending?: Ending & { bytes: number }): boolean {
    try {
      if (ending && this.#statements.leased.get(id, until)) this.entries.add(id, ending)
      return this.#countRemoved(this.#statements.finish.get(id, until))
    } catch (error) {
      if (isDamage(error)) this.#unremovable.set(id, true)
      throw error
    }
  }

  /** Ends up to 500 entries of each priority, and returns them. Fewer large ones: their bodies are copied through the log. */
  expire(before: number): StoredEntry[] {
    const expired: StoredEntry[] = []
    let room = this.#bounds.walBytes / 2
    if (!this.isDamaged) this.entries.prune()
    for (const priority of PRIORITIES_DOWN)
      this.#passByDamage(String(priority), () => {
        for (const row of this.#statements.older.all(priority, before)) {
          const entry = readEntry(row)
          if (entry.file === undefined) room -= entry.bytes
          if (room < 0 && expired.length > 0) break
          this.entries.add(entry.id, { state: 'expired' })
          this.#remove(entry.id)
          expired.push(entry)
        }
      })
    return expired
  }

  totals(): SpoolTotals {
    const partitions = this.#usage.partitionTotals()
    const times = partitions.flatMap(({ oldest }) => oldest ?? [])
    return {
      ...this.#usage.of('all', ''),
      ...(times.length > 0 && { oldest: Math.min(...times) }),
      partitions,
      paused: this.admin.paused(),
    }
  }

  /** Returns the bytes of the file that new entries can use without making it longer. */
  freeBytes(): number {
    return Number(this.#db.prepare('PRAGMA freelist_count').get()?.freelist_count) * PAGE_BYTES
  }

  /** Writes a page of the file with the content that it has. */
  probe(): void {
    this.#db.exec('PRAGMA application_id = 0')
  }

  /** Removes bodies without an entry. The name of a pending body begins with the key, which has an index. */
  removeOrphans(): void {
    this.files.removeOrphans(
      (name) => this.#statements.withFile.get(name.split('.', 1)[0] ?? '', name) !== undefined,
      (name) => this.entries.holdsFile(name),
    )
  }

  close(): void {
    this.#db.close()
  }

  #remove(id: number): void {
    this.#countRemoved(this.#statements.remove.get(id))
  }

  /** Returns `false` without a row. */
  #countRemoved(row: Row | undefined): boolean {
    if (!row) return false
    const { project, category, network, bytes, file } = row
    if (typeof file === 'string') this.files.remove(this.files.pathOfPending(file))
    const owner = { project: String(project), category: String(category), network: String(network) }
    this.#usage.countPending({ ...owner, bytes: Number(bytes) }, -1)
    return true
  }

  /** Returns `true` when the network of an entry has no room for `bytes` more. */
  #isShareReached(network: string, bytes: number): boolean {
    const { addressShare } = this.#bounds
    return networkShares(network, addressShare).some(
      ({ name, share }) => this.#excess('network', name, bytes, share) > 0,
    )
  }

  /** Returns how many bytes exceed the share of a project after `bytes` more. */
  #projectExcess(project: string, bytes: number): number {
    const { projectShare } = this.#bounds
    return projectShare === 1
      ? 0
      : this.#usage.bytesOfShare(project) + bytes - this.#bounds.entryBytes * projectShare
  }

  /** Returns how many bytes exceed a share of the bound after `bytes` more. */
  #excess(kind: UsageKind, name: string, bytes: number, share: number): number {
    return this.#usage.of(kind, name).bytes + bytes - this.#bounds.entryBytes * share
  }

  /** Lists less important entries: those for mirrors first, then the least important ones, then the oldest. */
  *#lessImportant({ project, priority }: SpoolEntry): Generator<Row> {
    if (!isMirrorKey(project))
      for (const each of this.#partitions().filter((partition) => isMirrorKey(partition.project)))
        yield* this.#statements.ofPartition.iterate(each.project, each.category)
    for (const lower of PRIORITIES_DOWN)
      if (lower > priority) yield* this.#statements.oldestOfPriority.iterate(lower)
  }

  *#lessImportantOfProject({ project, priority }: SpoolEntry): Generator<Row> {
    const partitions = this.#partitions().filter(
      (each) => each.project === project && priorityOf(each.category) > priority,
    )
    for (const { category } of partitions.toReversed())
      yield* this.#statements.ofPartition.iterate(project, category)
  }

  #partitions(): Partition[] {
    return this.#turns.order(this.#usage.partitions())
  }
}

/** Adds candidates to `chosen`, in their order, until `bytes` would be free. Returns `undefined` when they do not suffice. */
function chooseVictims(
  candidates: Iterable<Row>,
  bytes: number,
  chosen: readonly StoredEntry[],
): StoredEntry[] | undefined {
  const victims = [...chosen]
  const ids = new Set(victims.map(({ id }) => id))
  let left = victims.reduce((sum, victim) => sum - diskBytesOf(victim), bytes)
  if (left <= 0) return victims
  for (const row of candidates) {
    const victim = readEntry(row)
    if (ids.has(victim.id)) continue
    victims.push(victim)
    left -= diskBytesOf(victim)
    if (left <= 0) return victims
  }
  return undefined
}

function prepare(db: DatabaseSync) {
  const entries = `SELECT ${SELECTED} FROM envelopes`
  return {
    known: db.prepare('SELECT 1 FROM envelopes WHERE key = ?'),
    insert: db.prepare(
      `INSERT INTO envelopes (${COLUMNS}, due, put_off, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    leased: db.prepare('SELECT 1 FROM envelopes WHERE id = ? AND due = ?'),
    tooLate: db.prepare(
      `${entries} WHERE project = ? AND category = ? AND due > ? AND (due = put_off OR due > ?) ORDER BY due LIMIT ?`,
    ),
    due: db.prepare(`${entries} WHERE project = ? AND category = ? AND due <= ? ORDER BY due LIMIT ?`),
    lease: db.prepare('UPDATE envelopes SET due = ?, attempts = attempts + 1 WHERE id = ?'),
    extend: db.prepare('UPDATE envelopes SET due = ? WHERE id = ? AND due = ?'),
    postpone: db.prepare('UPDATE envelopes SET due = ?, put_off = ? WHERE id = ? AND due = ?'),
    finish: db.prepare(`DELETE FROM envelopes WHERE id = ? AND due = ? RETURNING ${COUNTED}`),
    remove: db.prepare(`DELETE FROM envelopes WHERE id = ? RETURNING ${COUNTED}`),
    body: db.prepare('SELECT body FROM envelopes WHERE id = ?'),
    withFile: db.prepare('SELECT 1 FROM envelopes WHERE key = ? AND file = ?'),
    older: db.prepare(`${entries} WHERE priority = ? AND received < ? ORDER BY received LIMIT 500`),
    oldestOfPriority: db.prepare(`${entries} WHERE priority = ? ORDER BY received LIMIT 10000`),
    ofPartition: db.prepare(`${entries} WHERE project = ? AND category = ? ORDER BY due LIMIT 10000`),
  }
}
