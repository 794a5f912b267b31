/** Operator's queries and actions on the spool's SQLite file, each in one transaction of the store. */

import type { DatabaseSync } from 'node:sqlite'
import {
  type EntryFilter,
  type EntryQuery,
  type ListedEntry,
  type PageQuery,
  type Pause,
  pendingSince,
} from '../../pipeline/spool.ts'
import type { Partition } from '../turns.ts'
import { type Row, readEntry, SELECTED, type StoredEntry } from './entry-row.ts'
import type { Usage } from './usage.ts'

const BATCH = 500 // entries in one transaction
const SEARCHED = 5_000 // entries in one call: they are read from the disk
const SEARCHED_BYTES = 4 * 1024 * 1024 // of their bodies, which lie before the event in a row
const ALL = '' // project of the pause of everything

export class EntryAdmin {
  readonly #statements: ReturnType<typeof prepare>
  readonly #usage: Usage
  readonly #remove: (id: number) => void

  constructor(db: DatabaseSync, usage: Usage, remove: (id: number) => void) {
    this.#statements = prepare(db)
    this.#usage = usage
    this.#remove = remove
  }

  list(query: PageQuery | EntryQuery): ListedEntry[] {
    if ('entry' in query) return this.#statements.one.all(query.entry.id, query.entry.key).map(readListed)
    const { order, limit, after, from = 0, to = Infinity, ...filter } = query
    const [statement, sign] =
      order === 'newest' ? [this.#statements.newest, -1] : [this.#statements.oldest, 1]
    const { received, place } = after ?? { received: sign * -Infinity, place: 0 }
    return this.#partitions(filter)
      .flatMap(({ project, category }) => statement.all(project, category, received, place, from, to, limit))
      .map(readListed)
      .sort((a, b) => sign * (pendingSince(a) - pendingSince(b) || a.id - b.id))
      .slice(0, limit)
  }

  /** Looks for an event in the next entries after a number. An index of events would make every put slower. */
  findEvent(eventId: string, after: number): { found: ListedEntry[]; last: number | undefined } {
    const ids: number[] = []
    let last: number | undefined
    let room = SEARCHED_BYTES
    for (const row of this.#statements.searched.iterate(after, SEARCHED)) {
      last = Number(row.id)
      if (row.event_id === eventId) ids.push(last)
      room -= Number(row.passed)
      if (room < 0) break
    }
    return { found: this.#statements.byIds.all(JSON.stringify(ids)).map(readListed), last }
  }

  /** Makes up to 500 postponed entries due. Returns their number: 0 when there are no more. */
  retry(filter: EntryFilter): number {
    const now = Date.now()
    const { retryOne, retrySome } = this.#statements
    if (filter.entry) return Number(retryOne.run(now, filter.entry.id, filter.entry.key, now).changes)
    let left = BATCH
    for (const { project, category } of this.#partitions(filter)) {
      if (left === 0) break
      left -= Number(retrySome.run(now, project, category, now, left).changes)
    }
    return BATCH - left
  }

  /** Removes up to 500 entries, and returns them. */
  purge(filter: EntryFilter): StoredEntry[] {
    const { one, oldestOf } = this.#statements
    const rows = filter.entry
      ? one.all(filter.entry.id, filter.entry.key)
      : this.#partitions(filter).flatMap(({ project, category }) => oldestOf.all(project, category, BATCH))
    const purged = rows.slice(0, BATCH).map(readEntry)
    for (const { id } of purged) this.#remove(id)
    return purged
  }

  pause(project = ALL): void {
    this.#statements.pause.run(project, Date.now())
  }

  resume(project = ALL): void {
    this.#statements.resume.run(project)
  }

  paused(): Pause[] {
    return this.#statements.paused.all().map(({ project, since }) => ({
      ...(project !== ALL && { project: String(project) }),
      since: Number(since),
    }))
  }

  #partitions({ projects, category }: EntryFilter): Partition[] {
    return this.#usage
      .partitions()
      .filter((partition) => projects?.includes(partition.project) ?? true)
      .filter((partition) => category === undefined || partition.category === category)
  }
}

function readListed(row: Row): ListedEntry {
  const due = Number(row.due)
  const isLater = due > Date.now()
  const entry = readEntry(row)
  return {
    ...entry,
    place: entry.id,
    attempts: Number(row.attempts),
    leased: isLater && due !== Number(row.put_off),
    ...(isLater && { due }),
  }
}

function prepare(db: DatabaseSync) {
  const entries = `SELECT ${SELECTED}, due, put_off FROM envelopes`
  const ofPartition = 'INDEXED BY envelopes_age WHERE project = ? AND category = ?'
  const inTime = 'received BETWEEN ? AND ?'
  const isPostponed = 'due > ? AND due = put_off'
  return {
    oldest: db.prepare(
      `${entries} ${ofPartition} AND (received, id) > (?, ?) AND ${inTime} ORDER BY received, id LIMIT ?`,
    ),
    newest: db.prepare(
      `${entries} ${ofPartition} AND (received, id) < (?, ?) AND ${inTime} ORDER BY received DESC, id DESC LIMIT ?`,
    ),
    searched: db.prepare(
      `SELECT id, CASE WHEN file IS NULL THEN bytes ELSE 0 END AS passed, event_id FROM envelopes
       WHERE id > ? ORDER BY id LIMIT ?`,
    ),
    byIds: db.prepare(`${entries} WHERE id IN (SELECT value FROM json_each(?))`),
    oldestOf: db.prepare(`${entries} ${ofPartition} ORDER BY received LIMIT ?`),
    one: db.prepare(`${entries} WHERE id = ? AND key = ?`),
    retryOne: db.prepare(`UPDATE envelopes SET due = ? WHERE id = ? AND key = ? AND ${isPostponed}`),
    retrySome: db.prepare(
      `UPDATE envelopes SET due = ? WHERE id IN
         (SELECT id FROM envelopes INDEXED BY envelopes_due WHERE project = ? AND category = ? AND ${isPostponed} LIMIT ?)`,
    ),
    pause: db.prepare('INSERT INTO pauses (project, since) VALUES (?, ?) ON CONFLICT DO NOTHING'),
    resume: db.prepare('DELETE FROM pauses WHERE project = ?'),
    paused: db.prepare('SELECT project, since FROM pauses ORDER BY project'),
  }
}
