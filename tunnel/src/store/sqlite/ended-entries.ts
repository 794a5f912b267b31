/** Entries that are not pending, in a table of their own: an earlier release would deliver them from that of pending entries. */

import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { INBOX_DSN } from 'contract/dsn'
import {
  ENDED_STATES,
  type EndedCount,
  type EndedEntry,
  type EndedFilter,
  type EndedPage,
  type EndedPlace,
  type EndedState,
  type SpoolBounds,
  type SpoolEntry,
} from '../../pipeline/spool.ts'
import { DEAD_LETTER_MS, DEAD_LETTER_SHARE, networkShares } from '../bounds.ts'
import { Summariser, type Summary } from '../entry-summary.ts'
import { type BodyFiles, readChunks } from './body-files.ts'
import { bodyOf, diskBytesOf, type Row, readEntry, SELECTED } from './entry-row.ts'
import { bytesOfSummary, type Summaries } from './summaries.ts'
import type { EndedKind, Usage } from './usage.ts'

/** The previous release reads and writes the table, too: change it by additions only. */
export const ENTRIES_TABLE = `CREATE TABLE IF NOT EXISTS entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  state TEXT NOT NULL,
  ended INTEGER NOT NULL,
  resent INTEGER,
  status INTEGER,
  answer TEXT,
  key TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL,
  category TEXT NOT NULL,
  priority INTEGER NOT NULL,
  network TEXT NOT NULL,
  received INTEGER NOT NULL,
  size INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  stored INTEGER NOT NULL,
  receipt TEXT NOT NULL,
  event_id TEXT,
  headers TEXT NOT NULL,
  file TEXT,
  body BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS entries_ended ON entries (state, ended, project, resent, stored, size);
CREATE INDEX IF NOT EXISTS entries_event ON entries (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS entries_file ON entries (file) WHERE file IS NOT NULL;
CREATE INDEX IF NOT EXISTS entries_dead ON entries (ended, stored) WHERE state <> 'kept';
CREATE INDEX IF NOT EXISTS entries_dead_network ON entries (network, ended, stored) WHERE state <> 'kept';
CREATE INDEX IF NOT EXISTS entries_kept_network ON entries (network, ended) WHERE state = 'kept'`

export type EndedBounds = Pick<SpoolBounds, 'addressShare' | 'kept'> & { entryBytes: number }

type Limits = { bytes: number; ageMs: number }
/** End of a delivery as a row has it. */
type Ended = { state: EndedState; status?: number | undefined; answer?: string | undefined }

const LINE_BYTES = 1024 // of a row without a body and an answer, in the table and its indexes
const INDEX_BYTES = 350 // of the indexes that pending entries do not have
const LONGEST_KEPT_MS = 720 * 60 * 60 * 1000 // where nothing is kept: other replicas may still keep entries
const VICTIMS = 32 // read at once
const PRUNED = 500 // in one transaction
const PRUNED_FOR_ONE = 2 // with each entry, so that pruning keeps up
const MAX_BATCH_BYTES = 4 * 1024 * 1024 // of bodies that a resend copies through the log in one transaction

const LAST = Number.MAX_SAFE_INTEGER

/** Runs in a transaction of its caller. */
export class EndedEntries {
  /** While it returns `false`, no entry stays: on a full disk, the space is for delivery. */
  hasRoom = () => true
  readonly #statements: ReturnType<typeof prepare>
  readonly #usage: Usage
  readonly #files: BodyFiles
  readonly #summaries: Summaries
  readonly #limits: Record<EndedKind, Limits>
  readonly #addressShare: number

  constructor(db: DatabaseSync, usage: Usage, files: BodyFiles, summaries: Summaries, bounds: EndedBounds) {
    this.#statements = prepare(db)
    this.#usage = usage
    this.#files = files
    this.#summaries = summaries
    this.#addressShare = bounds.addressShare
    this.#limits = {
      dead: { bytes: bounds.entryBytes * DEAD_LETTER_SHARE, ageMs: DEAD_LETTER_MS },
      kept: bounds.kept ?? { bytes: 0, ageMs: LONGEST_KEPT_MS },
    }
  }

  /** Copies a pending entry that is about to be removed. */
  add(id: number, ending: Ended): void {
    const row = this.#statements.pending.get(Number(ending.state !== 'evicted'), id)
    if (!row) return
    const entry = readEntry(row)
    if (this.hasRoom()) this.#store(entry, bodyOf(row), ending, this.#files.pathOfPending)
    else if (ending.state === 'kept' && entry.project === INBOX_DSN)
      throw new Error('the disk is full: the envelope stays pending, since only the inbox would have it')
  }

  /** Stores an entry that was never pending. `file` is in the folder of ended entries. */
  keep(entry: SpoolEntry, body: Uint8Array | undefined, ending: Ended): 'stored' | 'known' | 'too-large' {
    return this.#store(entry, body, ending, this.#files.pathOfEnded)
  }

  /**
   * Stores an entry whose body is given, or lies in a file that `pathOf` finds. Without room for its body, only the line of a dead letter stays. A
   * kept entry counts as resent only once it was resent itself: the server has accepted it once.
   */
  #store(
    entry: SpoolEntry,
    body: Uint8Array | undefined,
    { state, status = null, answer = null }: Nullable<Ended>,
    pathOf: (file: string) => string,
  ): 'stored' | 'known' | 'too-large' {
    const { key, project, category, priority, network, received, receipt, eventId, headers, file } = entry
    const former = this.#statements.lineOfKey.get(key)
    if (former?.state === 'kept') {
      this.#statements.note.run(status, answer, key)
      return 'known'
    }
    this.#removeRow(former) // a dead letter whose envelope has ended again
    const kind = kindOf(state)
    this.#prune(kind, PRUNED_FOR_ONE)
    const summary = kind === 'kept' ? summariseBody(entry, body, pathOf) : undefined
    const whole = diskBytesOf(entry) + INDEX_BYTES + (answer?.length ?? 0) + bytesOfSummary(summary)
    const isStored = state !== 'evicted' && this.#makeRoom(kind, network, whole)
    const bytes = isStored ? whole : LINE_BYTES + (answer?.length ?? 0)
    if (!isStored && (kind === 'kept' || !this.#makeRoom(kind, network, bytes))) return 'too-large'
    if (isStored && file !== undefined && pathOf === this.#files.pathOfPending) this.#files.keep(file)
    const { lastInsertRowid } = this.#statements.insert.run(
      ...[state, Date.now(), kind === 'dead' ? (entry.resent ?? null) : null, status, answer],
      ...[key, project, category, priority, network, received, entry.bytes, bytes, Number(isStored)],
      ...[receipt, eventId ?? null, isStored ? JSON.stringify(headers) : '[]'],
      ...[(isStored && file) || null, (isStored && body) || null],
    )
    if (summary) this.#summaries.add(lastInsertRowid, entry, summary)
    this.#usage.countEnded(kind, network, bytes, 1)
    return isStored ? 'stored' : 'too-large'
  }

  list(filter: EndedFilter, { limit, after = NEWEST }: EndedPage): EndedEntry[] {
    return this.#find('newest', filter, after, limit)
  }

  count(filter: EndedFilter, limit = Number.MAX_SAFE_INTEGER): EndedCount {
    const [access, parameters] = accessOf(filter)
    const total = { entries: 0, bytes: 0 }
    const projects = new Set<string>()
    for (const state of statesOf(filter)) {
      const all = [...parameters, state, ...rangeOf(filter), limit - total.entries]
      for (const { project, entries, bytes } of this.#statements[access].count.all(...all)) {
        projects.add(String(project))
        total.entries += Number(entries)
        total.bytes += Number(bytes)
      }
    }
    return { ...total, projects: [...projects] }
  }

  /** Returns the newest kept entry of a receipt. */
  findKept(receipt: string): EndedEntry | undefined {
    const row = this.#statements.ofNumber.get(this.#summaries.numberOf(receipt) ?? 0)
    return row && readEnded(row)
  }

  /** Lists entries with a body, the oldest first. Fewer large ones: their bodies are copied through the log. */
  oldest(filter: EndedFilter, limit: number, after: EndedPlace = { ended: 0, id: 0 }): EndedEntry[] {
    const range = { ...filter, from: Math.max(filter.from ?? 0, after.ended) }
    let room = MAX_BATCH_BYTES
    const chosen: EndedEntry[] = []
    for (const entry of this.#find('oldest', range, after, limit)) {
      if (entry.file === undefined) room -= entry.bytes
      if (room < 0 && chosen.length > 0) break
      chosen.push(entry)
    }
    return chosen
  }

  #find(
    order: 'newest' | 'oldest',
    filter: EndedFilter,
    { ended, id }: EndedPlace,
    limit: number,
  ): EndedEntry[] {
    const [access, parameters] = accessOf(filter)
    const statement = this.#statements[access][order]
    const sign = order === 'newest' ? -1 : 1
    return statesOf(filter)
      .flatMap((state) => statement.all(...parameters, state, ...rangeOf(filter), ended, id, limit))
      .map(readEnded)
      .sort((a, b) => sign * (a.ended - b.ended || a.id - b.id))
      .slice(0, limit)
  }

  /** Returns `undefined` when a file holds the body, or the entry is gone. */
  read(id: number, key: string): Uint8Array | undefined {
    return bodyOf(this.#statements.body.get(id, key))
  }

  /** Notes that an entry is pending again. A dead letter moves, a kept entry stays. */
  noteResent({ id, state }: EndedEntry, time: number): void {
    if (state === 'kept') this.#statements.noteResent.run(time, id)
    else this.remove(id)
  }

  remove(id: number): void {
    this.#removeRow(this.#statements.line.get(id))
  }

  /** Removes up to 500 entries. Returns their number. */
  purge(filter: EndedFilter): number {
    const purged = this.#find('newest', filter, NEWEST, PRUNED)
    for (const { id } of purged) this.remove(id)
    return purged.length
  }

  /** Makes room for pending entries. `excess` are the bytes by which they alone would exceed the bound. */
  giveWay(excess: number): void {
    const { bytes } = this.#limits.dead
    if (excess + bytes > 0) this.#shrink('dead', -excess)
  }

  /** Makes `bytes` free on a full disk. Returns `false` when there is nothing left to remove. */
  release(bytes: number): boolean {
    const [kept, dead] = [this.#usage.bytesOfEnded('kept'), this.#usage.bytesOfEnded('dead')]
    if (kept + dead <= 0) return false
    this.#shrink('kept', kept - bytes)
    this.#shrink('dead', dead - Math.max(0, bytes - kept))
    return true
  }

  deadBytes(): number {
    return this.#usage.bytesOfEnded('dead')
  }

  /** Removes entries that are too old. */
  prune(): void {
    for (const kind of KINDS) this.#prune(kind, PRUNED)
  }

  holdsFile(name: string): boolean {
    return this.#statements.withFile.get(name) !== undefined
  }

  #prune(kind: EndedKind, limit: number): void {
    for (const row of this.#statements.old[kind].all(Date.now() - this.#limits[kind].ageMs, limit))
      this.#removeRow(row)
  }

  /** Returns `false` when an entry is larger than a share, or than the bound. The oldest of its networks give way, then the oldest of all. */
  #makeRoom(kind: EndedKind, network: string, bytes: number): boolean {
    const { bytes: maxBytes } = this.#limits[kind]
    const shares = [...networkShares(network, this.#addressShare), { name: EVERY_NETWORK, share: 1 }]
    if (shares.some(({ share }) => bytes > maxBytes * share)) return false
    for (const { name, share } of shares) this.#shrink(kind, maxBytes * share - bytes, name)
    return true
  }

  /** Removes the oldest entries of a kind and a network until the rest takes `maxBytes`. */
  #shrink(kind: EndedKind, maxBytes: number, network = EVERY_NETWORK): void {
    for (let rows: Row[] = []; this.#usage.bytesOfEnded(kind, network) > Math.max(0, maxBytes); ) {
      if (rows.length === 0) rows = this.#oldest(kind, network)
      const row = rows.shift()
      if (!row) return
      this.#removeRow(row)
    }
  }

  #oldest(kind: EndedKind, network: string): Row[] {
    const { ofAll, ofNetwork } = this.#statements.oldest[kind]
    return network === EVERY_NETWORK ? ofAll.all(VICTIMS) : ofNetwork.all(...within(network), VICTIMS)
  }

  #removeRow(row: Row | undefined): void {
    if (!row) return
    const kind = kindOf(row.state)
    this.#statements.remove.run(Number(row.id))
    if (kind === 'kept') this.#summaries.remove(Number(row.id))
    this.#usage.countEnded(kind, String(row.network), Number(row.bytes), -1)
    if (typeof row.file === 'string') this.#files.remove(this.#files.pathOfEnded(row.file))
  }
}

type Nullable<T> = { [Name in keyof T]: T[Name] | null }

const EVERY_NETWORK = ''
const KINDS: readonly EndedKind[] = ['dead', 'kept']
const NEWEST: EndedPlace = { ended: Number.MAX_SAFE_INTEGER, id: 0 }

function kindOf(state: unknown): EndedKind {
  return state === 'kept' ? 'kept' : 'dead'
}

/** Summarises here, in the thread that has the body: that of a pending entry never leaves it. */
function summariseBody(
  entry: SpoolEntry,
  body: Uint8Array | undefined,
  pathOf: (file: string) => string,
): Summary {
  const summariser = new Summariser()
  const chunks = body
    ? [Buffer.from(body.buffer, body.byteOffset, body.byteLength)]
    : readChunks(pathOf(entry.file ?? ''))
  for (const chunk of chunks) summariser.push(chunk)
  return summariser.end(entry)
}

/** Returns the first and the last name of the networks within one. Those within an IPv6 network begin with its name; an IPv4 address has none. */
function within(network: string): string[] {
  return [network, network.includes(':') ? `${network}~` : network]
}

function statesOf({ states = ENDED_STATES }: EndedFilter): readonly EndedState[] {
  return states
}

function rangeOf({ projects, from = 0, to = LAST, notResentSince = LAST }: EndedFilter): SQLInputValue[] {
  const names = projects ? JSON.stringify(projects) : null
  return [from, to, names, names, notResentSince]
}

/** Ways to the rows of a filter. */
const ACCESS = {
  one: 'WHERE id = ? AND key = ? AND event_id IS coalesce(?, event_id)',
  ofEvent: 'INDEXED BY entries_event WHERE event_id = ?',
  all: 'INDEXED BY entries_ended WHERE true',
}

function accessOf({ entry, eventId }: EndedFilter): [keyof typeof ACCESS, SQLInputValue[]] {
  if (entry) return ['one', [entry.id, entry.key, eventId ?? null]]
  return eventId === undefined ? ['all', []] : ['ofEvent', [eventId]]
}

function readEnded(row: Row): EndedEntry {
  const { ended, state, status, answer, stored } = row
  return {
    ...readEntry(row),
    ...{ ended: Number(ended), state: ENDED_STATES.find((each) => each === state) ?? 'declined' },
    ...(status !== null && { status: Number(status) }),
    ...(answer !== null && { answer: String(answer) }),
    isStored: Boolean(stored),
  }
}

const LINE = 'SELECT id, state, network, bytes, file FROM entries'

function prepare(db: DatabaseSync) {
  const shared = 'key, project, category, priority, network'
  const selected = `SELECT id, state, ended, resent, status, answer, ${shared}, received, size AS body_bytes, stored, receipt, event_id,
    headers, file FROM entries`
  const find = (access: string) => {
    const matching = `${access} AND state = ? AND ended BETWEEN ? AND ?
      AND (? IS NULL OR project IN (SELECT value FROM json_each(?))) AND coalesce(resent, -1) < ?`
    return {
      newest: db.prepare(
        `${selected} ${matching} AND (ended, id) < (?, ?) ORDER BY ended DESC, id DESC LIMIT ?`,
      ),
      oldest: db.prepare(
        `${selected} ${matching} AND stored = 1 AND (ended, id) > (?, ?) ORDER BY ended, id LIMIT ?`,
      ),
      count: db.prepare(
        `SELECT project, count(*) AS entries, sum(size) AS bytes
         FROM (SELECT project, size FROM entries ${matching} AND stored = 1 ORDER BY ended, id LIMIT ?) GROUP BY project`,
      ),
    }
  }
  const lines = (index: string, where: string) =>
    db.prepare(`${LINE} INDEXED BY ${index} WHERE ${where} ORDER BY ended LIMIT ?`)
  const isKept = "state = 'kept'"
  const isDead = "state <> 'kept'"
  const ofNetwork = 'AND network BETWEEN ? AND ?'
  return {
    pending: db.prepare(`SELECT ${SELECTED}, CASE WHEN ? THEN body END AS body FROM envelopes WHERE id = ?`),
    note: db.prepare('UPDATE entries SET status = ?, answer = ? WHERE key = ?'),
    insert: db.prepare(
      `INSERT INTO entries (state, ended, resent, status, answer, ${shared}, received, size, bytes, stored, receipt, event_id, headers, file, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    one: find(ACCESS.one),
    ofEvent: find(ACCESS.ofEvent),
    all: find(ACCESS.all),
    ofNumber: db.prepare(`${selected} WHERE id = ?`),
    body: db.prepare('SELECT body FROM entries WHERE id = ? AND key = ?'),
    line: db.prepare(`${LINE} WHERE id = ?`),
    lineOfKey: db.prepare(`${LINE} WHERE key = ?`),
    noteResent: db.prepare('UPDATE entries SET resent = ? WHERE id = ?'),
    remove: db.prepare('DELETE FROM entries WHERE id = ?'),
    withFile: db.prepare('SELECT 1 FROM entries INDEXED BY entries_file WHERE file = ?'),
    old: {
      kept: lines('entries_ended', `${isKept} AND ended < ?`),
      dead: lines('entries_dead', `${isDead} AND ended < ?`),
    },
    oldest: {
      kept: {
        ofAll: lines('entries_ended', isKept),
        ofNetwork: lines('entries_kept_network', `${isKept} ${ofNetwork}`),
      },
      dead: {
        ofAll: lines('entries_dead', isDead),
        ofNetwork: lines('entries_dead_network', `${isDead} ${ofNetwork}`),
      },
    },
  }
}
