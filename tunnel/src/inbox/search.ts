/** Summaries of the envelopes in the inbox, in a table of their own: SQLite reads a large envelope before the columns behind it. */

import { randomUUID } from 'node:crypto'
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { InboxEntry, InboxGroup, InboxGroups } from 'contract/inbox'
import type { Summary } from './summary.ts'

/** Selection of envelopes; absent members select all. */
export type InboxQuery = {
  /** Item type. */
  type?: string | undefined
  /** Without `type`: an item type; selects envelopes with an item of another one. */
  hidden?: string | undefined
  group?: string | undefined
  release?: string | undefined
  environment?: string | undefined
  /** Envelopes of a replay: its segments and its errors. */
  replay?: string | undefined
  /** Words that must all occur. */
  search?: string | undefined
}

type Row = Record<string, SQLOutputValue>

const MAX_WORDS = 8
const MAX_NAMES = 50 // releases or environments

/** Values for an envelope that an earlier release has stored: it is a group of its own. */
function defaultsOf(row: string): string {
  return `${row}.seq, ${row}.id, coalesce(json_extract(${row}.types, '$[0]'), 'empty'), ${row}.types, ${row}.types, lower(${row}.id)`
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS summary (
    seq INTEGER PRIMARY KEY,
    group_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    is_error INTEGER NOT NULL DEFAULT 0,
    release TEXT NOT NULL DEFAULT '',
    environment TEXT NOT NULL DEFAULT '',
    replay TEXT NOT NULL DEFAULT '',
    segment INTEGER,
    raised INTEGER,
    user TEXT NOT NULL DEFAULT '',
    types TEXT NOT NULL,
    search TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS summary_release ON summary (release);
  CREATE INDEX IF NOT EXISTS summary_environment ON summary (environment);
  CREATE TRIGGER IF NOT EXISTS inbox_inserted AFTER INSERT ON inbox BEGIN
    INSERT INTO summary (seq, group_id, kind, title, types, search) SELECT ${defaultsOf('new')};
  END;
  CREATE TRIGGER IF NOT EXISTS inbox_deleted AFTER DELETE ON inbox BEGIN
    DELETE FROM summary WHERE seq = old.seq;
  END;
  INSERT INTO summary (seq, group_id, kind, title, types, search)
    SELECT ${defaultsOf('i')} FROM inbox i WHERE i.seq NOT IN (SELECT seq FROM summary);
  CREATE TABLE IF NOT EXISTS identity (id TEXT NOT NULL) STRICT`

/** Creates the tables, within the transaction of the caller. */
export function createSummaries(db: DatabaseSync): void {
  db.exec(SCHEMA)
  db.prepare('INSERT INTO identity (id) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM identity)').run(randomUUID())
}

export class Summaries {
  /** ID of the inbox, which is in its file. */
  readonly inbox: string
  readonly #statements: ReturnType<typeof prepare>

  constructor(db: DatabaseSync) {
    this.#statements = prepare(db)
    this.inbox = String(db.prepare('SELECT id FROM identity').get()?.id)
  }

  /** Returns the positions of the envelopes without a summary of their own, the newest first. */
  withDefaults(): number[] {
    return this.#statements.withDefaults.all().map(({ seq }) => Number(seq))
  }

  /** Adds the summary of the envelope at `seq`, unless it has been deleted. `types` is JSON. */
  add(seq: number | bigint, types: string, summary: Summary): void {
    const { group, kind, title, isError, release, environment, replay, segment, raised, user, search } =
      summary
    const texts = { group, kind, title, release, environment, replay, user, types, search }
    this.#statements.insert.run({ seq, ...texts, isError: Number(isError), segment, raised })
  }

  /** Returns the newest envelopes before the position `before`, and the position of the last one of a full page. */
  entries(query: InboxQuery, limit: number, before: number): { entries: InboxEntry[]; next?: number } {
    const rows = this.#statements.entries.all({ ...parametersOf(query), limit, before })
    return { entries: rows.map(readEntry), ...nextOf(rows, limit) }
  }

  /** Returns the groups whose newest matching envelope is before the position `before`. */
  groups(query: InboxQuery, limit: number, before: number): InboxGroups {
    const { groups, releases, environments } = this.#statements
    const rows = groups.all({ ...parametersOf(query), limit, before })
    return {
      inbox: this.inbox,
      groups: rows.map(readGroup),
      ...nextOf(rows, limit),
      releases: releases.all().map(({ name }) => String(name)),
      environments: environments.all().map(({ name }) => String(name)),
    }
  }
}

/** Condition that the types, a JSON list, contain another one than the hidden one. It is faster than `json_each` for each row. */
const OTHERS = `replace(replace(s.types, :hidden, ''), ',', '') <> '[]'`

/** Condition that a text contains each of the words. */
const WORDS = Array.from(
  { length: MAX_WORDS },
  (_, n) => `(:word${n} IS NULL OR instr(s.search, :word${n}) > 0)`,
)

function prepare(db: DatabaseSync) {
  const equal = ['group_id', 'release', 'environment', 'replay'].map(
    (column) => `(:${column} IS NULL OR s.${column} = :${column})`,
  )
  const types = ['(:type IS NULL OR instr(s.types, :type) > 0)', `(:hidden IS NULL OR ${OTHERS})`]
  const matches = [...equal, ...WORDS, ...types].join(' AND ')
  const entry = `s.*, i.id, i.time, i.event_id, i.bytes FROM`
  const namesIn = (column: string) =>
    `SELECT ${column} AS name FROM summary WHERE ${column} <> '' GROUP BY ${column}
     ORDER BY count(*) DESC, ${column} LIMIT ${MAX_NAMES}`
  return {
    insert: db.prepare(
      `INSERT OR REPLACE INTO summary (seq, group_id, kind, title, is_error, release, environment, replay, segment, raised,
         user, types, search)
       SELECT :seq, :group, :kind, :title, :isError, :release, :environment, :replay, :segment, :raised,
         :user, :types, :search WHERE EXISTS (SELECT 1 FROM inbox WHERE seq = :seq)`,
    ),
    // other values of `search` have several lines
    withDefaults: db.prepare('SELECT seq FROM summary WHERE instr(search, char(10)) = 0 ORDER BY seq DESC'),
    entries: db.prepare(
      `SELECT ${entry} summary s JOIN inbox i USING (seq) WHERE s.seq < :before AND ${matches}
       ORDER BY s.seq DESC LIMIT :limit`,
    ),
    groups: db.prepare(
      `SELECT g.*, oldest.time AS first, ${entry} (
         SELECT max(s.seq) AS seq, min(s.seq) AS first_seq, count(*) AS envelopes,
           count(DISTINCT nullif(s.user, '')) AS users
         FROM summary s WHERE ${matches} GROUP BY s.group_id
         HAVING max(s.seq) < :before ORDER BY max(s.seq) DESC LIMIT :limit
       ) g JOIN summary s USING (seq) JOIN inbox i USING (seq) JOIN inbox oldest ON oldest.seq = g.first_seq
       ORDER BY s.seq DESC`,
    ),
    releases: db.prepare(namesIn('release')),
    environments: db.prepare(namesIn('environment')),
  }
}

function parametersOf({ type, hidden, group, release, environment, replay, search = '' }: InboxQuery) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MAX_WORDS)
  return {
    type: type === undefined ? null : JSON.stringify(type),
    hidden: type === undefined && hidden !== undefined ? JSON.stringify(hidden) : null,
    group_id: group ?? null,
    release: release ?? null,
    environment: environment ?? null,
    replay: replay ?? null,
    ...Object.fromEntries(WORDS.map((_, n) => [`word${n}`, words[n] ?? null])),
  }
}

function nextOf(rows: readonly Row[], limit: number): { next?: number } {
  const last = rows.length === limit ? rows.at(-1) : undefined
  return last ? { next: Number(last.seq) } : {}
}

function readGroup(row: Row): InboxGroup {
  const [envelopes, users, first] = [Number(row.envelopes), Number(row.users), Number(row.first)]
  return { envelopes, users, first, newest: readEntry(row) }
}

function readEntry(row: Row): InboxEntry {
  const numberOf = (value: SQLOutputValue | undefined) => (typeof value === 'number' ? value : null)
  return {
    id: String(row.id),
    time: Number(row.time),
    event_id: typeof row.event_id === 'string' ? row.event_id : null,
    bytes: Number(row.bytes),
    types: JSON.parse(String(row.types)),
    group: String(row.group_id),
    kind: String(row.kind),
    title: String(row.title),
    is_error: row.is_error === 1,
    release: String(row.release),
    environment: String(row.environment),
    replay: String(row.replay),
    segment: numberOf(row.segment),
    raised: numberOf(row.raised),
  }
}
