/** What an operator asks of the spool's SQLite file, each in one transaction of the store. */

import type { DatabaseSync } from 'node:sqlite'
import type { EntryFilter, EntryRef, ListedEntry, PageQuery, Pause } from '../spool.ts'
import { READ, type Row, readEntry, type Victim } from './rows.ts'
import type { Partition } from './usage.ts'

export type EntryAdmin = {
  list(query: PageQuery): ListedEntry[]
  find(ref: EntryRef): ListedEntry | undefined
  /** How many are due now that were put off; not all of many, so that others get their turn: 0 when there are no more. */
  retry(which: EntryFilter): number
  /** Those forgotten; not all of many either. */
  purge(which: EntryFilter): Victim[]
  pause(project: string): void
  resume(project: string): void
  paused(): Pause[]
}

export type EntryAdminDeps = {
  db: DatabaseSync
  partitions: () => Partition[]
  forget: (id: number) => void
  now: () => number
}

const AT_A_TIME = 500 // in one transaction
const ALL = '' // as a pause of everything is named

export function openEntryAdmin({ db, partitions, forget, now }: EntryAdminDeps): EntryAdmin {
  const statements = prepare(db)
  return { list, find, retry, purge, pause, resume, paused }

  function list({ order, limit, after, ...which }: PageQuery): ListedEntry[] {
    const [statement, sign] = order === 'newest' ? [statements.newest, -1] : [statements.oldest, 1]
    const { received, place } = after ?? { received: sign * -Infinity, place: 0 }
    const rows = lanesIn(which).flatMap(({ name, category }) =>
      statement.all(name, category, received, place, limit),
    )
    return rows
      .map(readFound)
      .sort((a, b) => sign * (a.received - b.received || a.id - b.id))
      .slice(0, limit)
  }

  function find({ id, key }: EntryRef): ListedEntry | undefined {
    const row = statements.one.get(id, key)
    return row && readFound(row)
  }

  function readFound(row: Row): ListedEntry {
    const time = now()
    const due = Number(row.due)
    const later = due > time
    const entry = readEntry(row)
    return {
      ...entry,
      place: entry.id,
      attempts: Number(row.attempts),
      leased: later && due !== Number(row.put_off),
      ...(later && { due }),
    }
  }

  function retry(which: EntryFilter): number {
    const time = now()
    if (which.entry)
      return Number(statements.hastenOne.run(time, which.entry.id, which.entry.key, time).changes)
    let left = AT_A_TIME
    for (const { name, category } of lanesIn(which)) {
      if (left === 0) break
      left -= Number(statements.retry.run(time, name, category, time, left).changes)
    }
    return AT_A_TIME - left
  }

  function purge(which: EntryFilter): Victim[] {
    const victims: Victim[] = []
    const rows = which.entry
      ? [statements.one.get(which.entry.id, which.entry.key) ?? []].flat()
      : lanesIn(which).flatMap(({ name, category }) => statements.oldestOf.all(name, category, AT_A_TIME))
    for (const row of rows.slice(0, AT_A_TIME)) victims.push(readEntry(row))
    for (const { id } of victims) forget(id)
    return victims
  }

  function lanesIn({ projects, category }: Omit<EntryFilter, 'entry'>): Partition[] {
    return partitions().filter(
      (partition) =>
        (projects?.includes(partition.name) ?? true) &&
        (category === undefined || partition.category === category),
    )
  }

  function pause(project: string): void {
    statements.pause.run(project, now())
  }

  function resume(project: string): void {
    statements.resume.run(project)
  }

  function paused(): Pause[] {
    return statements.paused.all().map(({ project, since }) => ({
      ...(project !== ALL && { project: String(project) }),
      since: Number(since),
    }))
  }
}

function prepare(db: DatabaseSync) {
  const found = `SELECT ${READ}, due, put_off FROM envelopes`
  const ofLane = 'INDEXED BY envelopes_age WHERE project = ? AND category = ?'
  const isPutOff = 'due > ? AND due = put_off'
  return {
    oldest: db.prepare(`${found} ${ofLane} AND (received, id) > (?, ?) ORDER BY received, id LIMIT ?`),
    newest: db.prepare(
      `${found} ${ofLane} AND (received, id) < (?, ?) ORDER BY received DESC, id DESC LIMIT ?`,
    ),
    oldestOf: db.prepare(`${found} ${ofLane} ORDER BY received LIMIT ?`),
    one: db.prepare(`${found} WHERE id = ? AND key = ?`),
    hastenOne: db.prepare(`UPDATE envelopes SET due = ? WHERE id = ? AND key = ? AND ${isPutOff}`),
    retry: db.prepare(
      `UPDATE envelopes SET due = ? WHERE id IN
         (SELECT id FROM envelopes INDEXED BY envelopes_due WHERE project = ? AND category = ? AND ${isPutOff} LIMIT ?)`,
    ),
    pause: db.prepare('INSERT INTO pauses (project, since) VALUES (?, ?) ON CONFLICT DO NOTHING'),
    resume: db.prepare('DELETE FROM pauses WHERE project = ?'),
    paused: db.prepare('SELECT project, since FROM pauses ORDER BY project'),
  }
}
