/** Summaries of kept entries, in a table of their own, so that searching them reads no bodies. */

import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { InboxEntry, InboxGroup, InboxGroups, InboxPage } from 'contract/inbox'
import type { InboxPageQuery, InboxQuery, Span, SpoolEntry, Steps } from '../../pipeline/spool.ts'
import type { Summary } from '../entry-summary.ts'

type Row = Record<string, SQLOutputValue>
type Summarised = Pick<SpoolEntry, 'receipt' | 'received' | 'eventId' | 'bytes'>

const MAX_WORDS = 8
const MAX_NAMES = 50 // releases or environments
const ROW_BYTES = 200 // of a summary, and of its indexes

/** Older entries are not listed, so that a query takes milliseconds, however many are kept. */
export const MAX_LISTED = 10_000

/** The previous release reads and writes the table, too: change it by additions only. */
export const SUMMARIES_TABLE = `CREATE TABLE IF NOT EXISTS summaries (
  id INTEGER PRIMARY KEY,
  receipt TEXT NOT NULL,
  received INTEGER NOT NULL,
  event_id TEXT,
  size INTEGER NOT NULL,
  group_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  title TEXT NOT NULL,
  is_error INTEGER NOT NULL,
  release TEXT NOT NULL,
  environment TEXT NOT NULL,
  replay TEXT NOT NULL,
  segment INTEGER,
  raised INTEGER,
  user TEXT NOT NULL,
  types TEXT NOT NULL,
  search TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS summaries_receipt ON summaries (receipt);
CREATE INDEX IF NOT EXISTS summaries_release ON summaries (release);
CREATE INDEX IF NOT EXISTS summaries_environment ON summaries (environment)`

/** Statements that add the columns which a new table, and that of an earlier release, lack. */
export function missingColumns(db: DatabaseSync): string[] {
  const has = db.prepare("SELECT 1 FROM pragma_table_info('summaries') WHERE name = ?")
  const missing = ['culprit', 'browser'].filter((name) => !has.get(name))
  return missing.map((name) => `ALTER TABLE summaries ADD COLUMN ${name} TEXT NOT NULL DEFAULT ''`)
}

const COLUMNS = `id, receipt, received, event_id, size, group_id, kind, title, is_error, release, environment, replay, segment, raised,
  user, types, search, culprit, browser`

/** Runs in a transaction of its caller. */
export class Summaries {
  readonly #statements: ReturnType<typeof prepare>

  constructor(db: DatabaseSync) {
    this.#statements = prepare(db)
  }

  /** Adds the summary of the kept entry `id`. One from NATS may have more or fewer members, of another release. */
  add(id: number | bigint, { receipt, received, eventId, bytes }: Summarised, summary: Summary): void {
    const { group, isError, kind, title, release, environment, replay, segment, raised } = summary
    const { user, types, search, culprit, browser } = summary
    this.#statements.insert.run({
      ...{ id, receipt, received, event_id: eventId ?? null, size: bytes, group_id: group },
      ...{ kind, title, is_error: Number(isError), release, environment, replay, segment, raised },
      ...{ user, types, search, culprit: culprit ?? '', browser: browser ?? '' },
    })
  }

  remove(id: number): void {
    this.#statements.remove.run(id)
  }

  /** Removes the summaries of entries with lower numbers. */
  removeBefore(id: number): void {
    this.#statements.removeBefore.run(id)
  }

  /** Returns the number of the newest entry of a receipt. */
  numberOf(receipt: string): number | undefined {
    const row = this.#statements.ofReceipt.get(receipt)
    return row && Number(row.id)
  }

  countArrived({ from, until }: Span): number {
    return Number(this.#statements.arrived.get(this.#oldest(), from, until)?.entries)
  }

  list(limit: number, query: InboxPageQuery = {}): InboxPage {
    const rows = this.#statements.entries.all(this.#parametersOf(limit, query))
    return { entries: rows.map(readEntry), ...nextOf(rows, limit) }
  }

  groups(limit: number, query: InboxPageQuery = {}, steps?: Steps): Omit<InboxGroups, 'inbox'> {
    const { groups, releases, environments } = this.#statements
    const rows = groups.all(this.#parametersOf(limit, query))
    const read = rows.map(readGroup)
    return {
      groups: steps ? this.#withCounts(read, query, steps) : read,
      ...nextOf(rows, limit),
      releases: releases.all().map(({ name }) => String(name)),
      environments: environments.all().map(({ name }) => String(name)),
    }
  }

  #withCounts(groups: InboxGroup[], { after: _, ...query }: InboxPageQuery, steps: Steps): InboxGroup[] {
    const { from, stepMs, count } = steps
    const since = Number(this.#statements.since.get(this.#oldest())?.received ?? Infinity)
    const unknown = Math.min(count, Math.max(0, Math.floor((since - from) / stepMs))) // spans before the oldest entry
    const none = [...Array<null>(unknown).fill(null), ...Array<number>(count - unknown).fill(0)]
    const counts = new Map(groups.map(({ newest }) => [newest.group, [...none]]))
    const listed = JSON.stringify([...counts.keys()])
    const span = { from, step: stepMs, until: from + count * stepMs }
    const parameters = { ...parametersOf(query), oldest: this.#oldest(), listed, ...span }
    for (const { group_id: group, step, envelopes } of this.#statements.counts.all(parameters)) {
      const ofGroup = counts.get(String(group))
      if (ofGroup) ofGroup[Number(step)] = Number(envelopes)
    }
    return groups.map((group) => ({ ...group, counts: counts.get(group.newest.group) ?? [] }))
  }

  #parametersOf(limit: number, { after = Number.MAX_SAFE_INTEGER, ...query }: InboxPageQuery) {
    return { ...parametersOf(query), oldest: this.#oldest(), limit, before: after }
  }

  #oldest(): number {
    return Number(this.#statements.oldest.get(MAX_LISTED - 1)?.id ?? 0)
  }
}

/** Returns the bytes that a summary takes. */
export function bytesOfSummary(summary: Summary | undefined): number {
  if (!summary) return 0
  const texts = Object.values(summary).filter((value) => typeof value === 'string')
  return texts.reduce((sum, each) => sum + Buffer.byteLength(each), ROW_BYTES)
}

/** Condition that the types, a JSON list, contain another one than the hidden one. It is faster than `json_each` for each row. */
const OTHERS = `replace(replace(s.types, :hidden, ''), ',', '') <> '[]'`

/** Condition that a text contains each of the words. */
const WORDS = Array.from(
  { length: MAX_WORDS },
  (_, n) => `(:word${n} IS NULL OR instr(s.search, :word${n}) > 0)`,
)

function prepare(db: DatabaseSync) {
  const equal = ['receipt', 'group_id', 'release', 'environment', 'replay'].map(
    (column) => `(:${column} IS NULL OR s.${column} = :${column})`,
  )
  const types = ['(:type IS NULL OR instr(s.types, :type) > 0)', `(:hidden IS NULL OR ${OTHERS})`]
  const matches = ['s.id >= :oldest', ...equal, ...WORDS, ...types].join(' AND ')
  const namesIn = (column: string) =>
    `SELECT ${column} AS name FROM summaries WHERE ${column} <> '' GROUP BY ${column}
     ORDER BY count(*) DESC, ${column} LIMIT ${MAX_NAMES}`
  return {
    insert: db.prepare(`INSERT INTO summaries (${COLUMNS}) VALUES (${COLUMNS.replace(/(\w+)/g, ':$1')})`),
    remove: db.prepare('DELETE FROM summaries WHERE id = ?'),
    removeBefore: db.prepare('DELETE FROM summaries WHERE id < ?'),
    ofReceipt: db.prepare('SELECT id FROM summaries WHERE receipt = ? ORDER BY id DESC LIMIT 1'),
    oldest: db.prepare('SELECT id FROM summaries ORDER BY id DESC LIMIT 1 OFFSET ?'),
    since: db.prepare('SELECT min(received) AS received FROM summaries WHERE id >= ?'),
    arrived: db.prepare(
      'SELECT count(*) AS entries FROM summaries WHERE id >= ? AND received >= ? AND received < ?',
    ),
    entries: db.prepare(
      `SELECT s.* FROM summaries s WHERE s.id < :before AND ${matches} ORDER BY s.id DESC LIMIT :limit`,
    ),
    groups: db.prepare(
      `SELECT g.*, oldest.received AS first, s.* FROM (
         SELECT max(s.id) AS newest, min(s.id) AS first_id, count(*) AS envelopes,
           count(DISTINCT nullif(s.user, '')) AS users
         FROM summaries s WHERE ${matches} GROUP BY s.group_id
         HAVING max(s.id) < :before ORDER BY max(s.id) DESC LIMIT :limit
       ) g JOIN summaries s ON s.id = g.newest JOIN summaries oldest ON oldest.id = g.first_id
       ORDER BY s.id DESC`,
    ),
    counts: db.prepare(
      `SELECT s.group_id, CAST((s.received - :from) / :step AS INTEGER) AS step, count(*) AS envelopes FROM summaries s
       WHERE s.received >= :from AND s.received < :until AND ${matches}
       AND s.group_id IN (SELECT value FROM json_each(:listed)) GROUP BY 1, 2`,
    ),
    releases: db.prepare(namesIn('release')),
    environments: db.prepare(namesIn('environment')),
  }
}

function parametersOf({ id, type, hidden, group, release, environment, replay, search = '' }: InboxQuery) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MAX_WORDS)
  return {
    type: type === undefined ? null : JSON.stringify(type),
    hidden: type === undefined && hidden !== undefined ? JSON.stringify(hidden) : null,
    receipt: id ?? null,
    group_id: group ?? null,
    release: release ?? null,
    environment: environment ?? null,
    replay: replay ?? null,
    ...Object.fromEntries(WORDS.map((_, n) => [`word${n}`, words[n] ?? null])),
  }
}

function nextOf(rows: readonly Row[], limit: number): { next?: number } {
  const last = rows.length === limit ? rows.at(-1) : undefined
  return last ? { next: Number(last.id) } : {}
}

function readGroup(row: Row): InboxGroup {
  const [envelopes, users, first] = [Number(row.envelopes), Number(row.users), Number(row.first)]
  return { envelopes, users, first, newest: readEntry(row) }
}

function readEntry(row: Row): InboxEntry {
  const numberOf = (value: SQLOutputValue | undefined) => (typeof value === 'number' ? value : null)
  return {
    id: String(row.receipt),
    time: Number(row.received),
    event_id: typeof row.event_id === 'string' ? row.event_id : null,
    bytes: Number(row.size),
    types: JSON.parse(String(row.types)),
    group: String(row.group_id),
    kind: String(row.kind),
    title: String(row.title),
    culprit: String(row.culprit),
    browser: String(row.browser),
    is_error: row.is_error === 1,
    release: String(row.release),
    environment: String(row.environment),
    replay: String(row.replay),
    segment: numberOf(row.segment),
    raised: numberOf(row.raised),
  }
}
