/** Entries that are not pending, in a table of their own: an earlier release would deliver them from that of pending entries. */

import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { INBOX_DSN } from 'contract/dsn'
import { MIRROR_MARK, shareOf } from '../../pipeline/projects.ts'
import {
  ENDED_STATES,
  type EndedEntry,
  type EndedFilter,
  type EndedPage,
  type EndedPlace,
  type EndedState,
  type SpoolBounds,
  type SpoolEntry,
} from '../../pipeline/spool.ts'
import { DEAD_LETTER_MS, deadLetterLimits, networkShares } from '../bounds.ts'
import { type Summary, summarise, summariseFile } from '../entry-summary.ts'
import type { BodyFiles } from './body-files.ts'
import { bodyOf, diskBytesOf, type Row, readEntry, SELECTED } from './entry-row.ts'
import { bytesOfSummary, type Summaries } from './summaries.ts'
import type { EndedKind, Usage } from './usage.ts'

/** Result of `shareOf`, for an index. */
const SHARING = `CASE WHEN substr(project, -${MIRROR_MARK.length}) = '${MIRROR_MARK}' THEN '${MIRROR_MARK}' ELSE project END`

/** Additive: the previous release ignores the table. */
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
CREATE INDEX IF NOT EXISTS entries_kept_network ON entries (network, ended) WHERE state = 'kept';
CREATE INDEX IF NOT EXISTS entries_lines ON entries (ended) WHERE state <> 'kept' AND stored = 0;
CREATE INDEX IF NOT EXISTS entries_dead_project ON entries (${SHARING}, stored, ended) WHERE state <> 'kept'`

export type EndedBounds = Pick<SpoolBounds, 'addressShare' | 'projectShare' | 'kept'> & { entryBytes: number }

/** Dead letters and kept entries have bounds of their own. */
type Kind = 'dead' | 'kept'
type Limits = { bytes: number; ageMs: number }
/** Entries that share a part of a bound: of a network or a project, or all of a kind. */
type Group = { of: 'all' | 'network' | 'project'; name: string; share: number }
type Owner = { network: string; project: string }
/** End of a delivery as a row has it. */
type Ended = {
  state: EndedState
  status?: number | null | undefined
  answer?: string | null | undefined
}

const LINE_BYTES = 1024 // of a row without a body and an answer, in the table and its indexes
const INDEX_BYTES = 350 // of the indexes that pending entries do not have
const LONGEST_KEPT_MS = 720 * 60 * 60 * 1000 // where nothing is kept: other replicas may still keep entries
const VICTIMS = 32 // read at once
const PRUNED = 500 // in one transaction
const PRUNED_FOR_ONE = 2 // with each entry, so that pruning keeps up
const MAX_BATCH_BYTES = 4 * 1024 * 1024 // of bodies that a resend copies through the log in one transaction

const NEVER = -1 // as the time of a resend
const LAST = Number.MAX_SAFE_INTEGER

/** Runs in a transaction of its caller. */
export class EndedEntries {
  /** While it returns `false`, no entry stays: on a full disk, the space is for delivery. */
  hasRoom = () => true
  readonly #statements: ReturnType<typeof prepare>
  readonly #usage: Usage
  readonly #files: BodyFiles
  readonly #summaries: Summaries
  readonly #limits: Record<Kind, Limits>
  /** Dead letters of which only the line is left. */
  readonly #maxLines: number
  readonly #shares: Pick<EndedBounds, 'addressShare' | 'projectShare'>

  constructor(db: DatabaseSync, usage: Usage, files: BodyFiles, summaries: Summaries, bounds: EndedBounds) {
    this.#statements = prepare(db)
    this.#usage = usage
    this.#files = files
    this.#summaries = summaries
    this.#shares = bounds
    const { bytes, lines } = deadLetterLimits(bounds.entryBytes)
    this.#maxLines = lines
    this.#limits = {
      dead: { bytes, ageMs: DEAD_LETTER_MS },
      kept: bounds.kept ?? { bytes: 0, ageMs: LONGEST_KEPT_MS },
    }
  }

  /**
   * Copies a pending entry that is about to be removed. Without room for its body, only the line of a dead letter stays. A kept entry counts as
   * resent only once it was resent itself: the server has accepted it once.
   */
  add(id: number, { state, status = null, answer = null }: Ended): void {
    const kind = kindOf(state)
    const row = this.#statements.pending.get(Number(kind === 'kept'), id)
    if (!row) return
    const entry = readEntry(row)
    const { key, project, file } = entry
    if (!this.hasRoom()) {
      if (state === 'kept' && project === INBOX_DSN)
        throw new Error('the disk is full: the envelope stays pending, since only the inbox would have it')
      return
    }
    if (this.#isKept(key)) return void this.#statements.note.run(status, answer, key)
    const summary =
      kind === 'kept' ? this.#summarise(entry, bodyOf(row), this.#files.pathOfPending) : undefined
    const bytes = Number(row.bytes) + bytesBeside(answer, summary)
    const owner = ownerOf(entry)
    this.#removeKey(key)
    this.#prune(kind, PRUNED_FOR_ONE)
    const isStored = state !== 'evicted' && this.#makeRoom(kind, owner, bytes)
    if (!isStored && kind === 'kept') return
    const moved = isStored && file !== undefined ? this.#files.keep(file) : null
    const taken = isStored ? bytes : lineBytes(answer)
    const { lastInsertRowid } = this.#statements.move.run(
      ...[state, Date.now(), status, answer, taken, Number(isStored), Number(kind === 'dead')],
      ...[Number(isStored), moved],
      ...[Number(isStored), id],
    )
    if (summary) this.#summaries.add(lastInsertRowid, entry, summary)
    this.#count(kind, owner, taken, isStored, 1)
    if (kind === 'dead') this.#dropLines(owner)
  }

  /** Stores an entry that was never pending. `file` is in the folder of ended entries. */
  keep(
    entry: SpoolEntry,
    body: Uint8Array | undefined,
    { state, status = null, answer = null }: Ended,
    ended = Date.now(),
  ): 'stored' | 'known' | 'too-large' {
    const { key, project, category, priority, network, received, receipt, eventId, headers, file } = entry
    if (this.#isKept(key)) return 'known'
    const kind = kindOf(state)
    const summary = kind === 'kept' ? this.#summarise(entry, body, this.#files.pathOfEnded) : undefined
    const bytes = diskBytesOf(entry) + bytesBeside(answer, summary)
    const owner = ownerOf(entry)
    this.#removeKey(key)
    this.#prune(kind, PRUNED_FOR_ONE)
    if (!this.#makeRoom(kind, owner, bytes)) return 'too-large'
    const { lastInsertRowid } = this.#statements.insert.run(
      ...[state, ended, status, answer, key, project, category, priority, network, received, entry.bytes],
      ...[bytes, receipt, eventId ?? null, JSON.stringify(headers), file ?? null, body ?? null],
    )
    if (summary) this.#summaries.add(lastInsertRowid, entry, summary)
    this.#count(kind, owner, bytes, true, 1)
    return 'stored'
  }

  listEnded(filter: EndedFilter, { limit, after = NEWEST }: EndedPage): EndedEntry[] {
    return this.#find('newest', filter, after, limit)
  }

  countEnded(filter: EndedFilter, limit = Number.MAX_SAFE_INTEGER): { entries: number; bytes: number } {
    const [access, parameters] = accessOf(filter)
    const total = { entries: 0, bytes: 0 }
    for (const state of statesOf(filter)) {
      const left = limit - total.entries
      const row = this.#statements[access].count.get(...parameters, state, ...rangeOf(filter), left)
      total.entries += Number(row?.entries)
      total.bytes += Number(row?.bytes)
    }
    return total
  }

  endedProjects(filter: EndedFilter): string[] {
    const [access, parameters] = accessOf(filter)
    const { projects } = this.#statements[access]
    const rows = statesOf(filter).flatMap((state) => projects.all(...parameters, state, ...rangeOf(filter)))
    return [...new Set(rows.map(({ project }) => String(project)))]
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
  readEnded(id: number, key: string): Uint8Array | undefined {
    return bodyOf(this.#statements.body.get(id, key))
  }

  /** Notes that an entry is pending again. A dead letter moves, a kept entry stays. */
  noteResent({ id, state }: EndedEntry, time: number): void {
    if (state === 'kept') this.#statements.noteResent.run(time, id)
    else this.#removeRow(this.#statements.line.get(id))
  }

  /** Notes that the body of an entry has been lost. */
  noteLost(id: number): void {
    this.#removeBody(this.#statements.line.get(id))
  }

  /** Removes up to 500 entries. Returns their number. */
  purgeEnded(filter: EndedFilter): number {
    const purged = this.#find('newest', filter, NEWEST, PRUNED)
    for (const { id } of purged) this.#removeRow(this.#statements.line.get(id))
    return purged.length
  }

  /** Makes room for pending entries. `excess` are the bytes by which they alone would exceed the bound. */
  giveWay(excess: number): void {
    const { bytes } = this.#limits.dead
    if (excess + bytes > 0) this.#shrink('dead', -excess)
  }

  /** Makes `bytes` free on a full disk. Returns `false` when there is nothing left to remove. */
  release(bytes: number): boolean {
    const [kept, dead] = [this.#usage.of('kept', '').bytes, this.#usage.of('dead', '').bytes]
    if (kept + dead <= 0) return false
    this.#shrink('kept', kept - bytes)
    this.#shrink('dead', dead - Math.max(0, bytes - kept))
    return true
  }

  deadBytes(): number {
    return this.#usage.of('dead', '').bytes
  }

  /** Removes entries that are too old. */
  prune(): void {
    for (const kind of KINDS) this.#prune(kind, PRUNED)
  }

  holdsFile(name: string): boolean {
    return this.#statements.withFile.get(name) !== undefined
  }

  /** Summarises here, in the thread that has the body: that of a pending entry never leaves it. */
  #summarise(entry: SpoolEntry, body: Uint8Array | undefined, pathOf: (file: string) => string): Summary {
    return body ? summarise(entry, body) : summariseFile(entry, pathOf(entry.file ?? ''))
  }

  #prune(kind: Kind, limit: number): void {
    for (const row of this.#statements.old[kind].all(Date.now() - this.#limits[kind].ageMs, limit))
      this.#removeRow(row)
  }

  /** Returns `false` when an entry is larger than a share, or than the bound. The oldest of its network and its project give way, then the oldest of all. */
  #makeRoom(kind: Kind, owner: Owner, bytes: number): boolean {
    const { bytes: maxBytes } = this.#limits[kind]
    const groups = this.#groupsOf(kind, owner)
    if (groups.some(({ share }) => bytes > maxBytes * share)) return false
    for (const group of groups) this.#shrink(kind, maxBytes * group.share - bytes, group)
    return true
  }

  /** Removes the oldest lines without a body beyond the bounds of a network, of a project, and of all. */
  #dropLines(owner: Owner): void {
    for (const group of this.#groupsOf('dead', owner)) {
      const most = Math.max(1, Math.floor(this.#maxLines * group.share))
      this.#removeWhile(() => this.#totalOf('line', group).envelopes > most, ['line'], group)
    }
  }

  /** Returns the groups of an entry, the smallest first. */
  #groupsOf(kind: Kind, { network, project }: Owner): Group[] {
    const { addressShare, projectShare } = this.#shares
    const networks = networkShares(network, addressShare).map((each): Group => ({ of: 'network', ...each }))
    const ofProject: Group = { of: 'project', name: project, share: projectShare }
    return [...networks, ...(kind === 'dead' ? [ofProject] : []), EVERYTHING]
  }

  /** Removes the oldest kept entries, or the bodies of the oldest dead letters and then their lines, until the rest takes `maxBytes`. */
  #shrink(kind: Kind, maxBytes: number, group: Group = EVERYTHING): void {
    const isTooLarge = () => this.#totalOf(kind, group).bytes > Math.max(0, maxBytes)
    this.#removeWhile(isTooLarge, kind === 'kept' ? ['kept'] : ['dead', 'line'], group)
  }

  /** Removes the oldest entries of each kind in turn. Of dead letters with a body, the line stays. */
  #removeWhile(isTooMuch: () => boolean, kinds: readonly EndedKind[], group: Group): void {
    for (const kind of kinds)
      for (let rows: Row[] = []; isTooMuch(); ) {
        if (rows.length === 0) rows = this.#oldest(kind, group, VICTIMS)
        const row = rows.shift()
        if (!row) break
        if (kind === 'dead') this.#removeBody(row)
        else this.#removeRow(row)
      }
  }

  #totalOf(kind: EndedKind, { of, name }: Group): { envelopes: number; bytes: number } {
    return this.#usage.of(of === 'all' ? kind : `${kind}-${of}`, name)
  }

  /** Lists the oldest entries of a group; of dead letters, those with a body. */
  #oldest(kind: EndedKind, { of, name }: Group, limit: number): Row[] {
    const parameters = { all: [], network: within(name), project: [name] }[of]
    return this.#statements.oldest[kind][of].all(...parameters, limit)
  }

  #removeBody(row: Row | undefined): void {
    if (!row) return
    const [kind, owner, left] = [kindOf(row.state), ownerOf(row), lineBytes(row.answer)]
    this.#statements.removeBody.run(left, Number(row.id))
    this.#count(kind, owner, Number(row.bytes), Boolean(row.stored), -1)
    this.#count(kind, owner, left, false, 1)
    this.#removeFile(row)
  }

  #removeRow(row: Row | undefined): void {
    if (!row) return
    const kind = kindOf(row.state)
    this.#statements.remove.run(Number(row.id))
    if (kind === 'kept') this.#summaries.remove(Number(row.id))
    this.#count(kind, ownerOf(row), Number(row.bytes), Boolean(row.stored), -1)
    this.#removeFile(row)
  }

  /** Counts an entry that is added, or removed. */
  #count(kind: Kind, owner: Owner, bytes: number, isStored: boolean, sign: 1 | -1): void {
    this.#usage.countEnded(kind, { ...owner, bytes: sign * bytes }, sign)
    if (kind === 'dead' && !isStored) this.#usage.countEnded('line', { ...owner, bytes: 0 }, sign)
  }

  #removeFile({ file }: Row): void {
    if (typeof file === 'string') this.#files.remove(file)
  }

  /** Removes a dead letter whose envelope has ended again. */
  #removeKey(key: string): void {
    this.#removeRow(this.#statements.lineOfKey.get(key))
  }

  #isKept(key: string): boolean {
    return this.#statements.lineOfKey.get(key)?.state === 'kept'
  }
}

const EVERYTHING: Group = { of: 'all', name: '', share: 1 }
const KINDS: readonly Kind[] = ['dead', 'kept']
const NEWEST: EndedPlace = { ended: Number.MAX_SAFE_INTEGER, id: 0 }

function kindOf(state: unknown): Kind {
  return state === 'kept' ? 'kept' : 'dead'
}

/** Returns the network, and the project whose share an entry takes. */
function ownerOf({ network, project }: Row | SpoolEntry): Owner {
  return { network: String(network), project: shareOf(String(project)) }
}

/** Returns the bytes that an ended entry takes beside those of a pending one. */
function bytesBeside(answer: string | null, summary: Summary | undefined): number {
  return INDEX_BYTES + (answer?.length ?? 0) + bytesOfSummary(summary)
}

function lineBytes(answer: unknown): number {
  return LINE_BYTES + (typeof answer === 'string' ? answer.length : 0)
}

/** Returns the first and the last name of the networks within one. Those within an IPv6 network begin with its name; an IPv4 address has none. */
function within(network: string): string[] {
  return [network, network.includes(':') ? `${network}~` : network]
}

function statesOf({ states = ENDED_STATES }: EndedFilter): readonly EndedState[] {
  return states
}

function rangeOf({ projects, from = 0, to = LAST, ...filter }: EndedFilter): SQLInputValue[] {
  const { resentSince = NEVER, notResentSince = LAST } = filter
  const names = projects ? JSON.stringify(projects) : null
  return [from, to, names, names, resentSince, notResentSince]
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

const LINE = 'SELECT id, state, network, project, bytes, stored, answer, file FROM entries'

function prepare(db: DatabaseSync) {
  const shared = 'key, project, category, priority, network'
  const selected = `SELECT id, state, ended, resent, status, answer, ${shared}, received, size AS body_bytes, stored, receipt, event_id,
    headers, file FROM entries`
  const find = (access: string) => {
    const matching = `${access} AND state = ? AND ended BETWEEN ? AND ?
      AND (? IS NULL OR project IN (SELECT value FROM json_each(?))) AND coalesce(resent, ${NEVER}) >= ? AND coalesce(resent, ${NEVER}) < ?`
    return {
      newest: db.prepare(
        `${selected} ${matching} AND (ended, id) < (?, ?) ORDER BY ended DESC, id DESC LIMIT ?`,
      ),
      oldest: db.prepare(
        `${selected} ${matching} AND stored = 1 AND (ended, id) > (?, ?) ORDER BY ended, id LIMIT ?`,
      ),
      projects: db.prepare(`SELECT DISTINCT project FROM entries ${matching} AND stored = 1`),
      count: db.prepare(
        `SELECT count(*) AS entries, coalesce(sum(size), 0) AS bytes
         FROM (SELECT size FROM entries ${matching} AND stored = 1 ORDER BY ended, id LIMIT ?)`,
      ),
    }
  }
  const lines = (index: string, where: string) =>
    db.prepare(`${LINE} INDEXED BY ${index} WHERE ${where} ORDER BY ended LIMIT ?`)
  const isKept = "state = 'kept'"
  const ofKept = lines('entries_ended', isKept)
  const oldestDead = (index: string, stored: 0 | 1) => {
    const isDead = `state <> 'kept' AND stored = ${stored}`
    return {
      all: lines(index, isDead),
      network: lines('entries_dead_network', `${isDead} AND network BETWEEN ? AND ?`),
      project: lines('entries_dead_project', `${isDead} AND ${SHARING} = ?`),
    }
  }
  return {
    pending: db.prepare(`SELECT ${SELECTED}, CASE WHEN ? THEN body END AS body FROM envelopes WHERE id = ?`),
    note: db.prepare('UPDATE entries SET status = ?, answer = ? WHERE key = ?'),
    move: db.prepare(
      `INSERT INTO entries (state, ended, status, answer, bytes, stored, resent, ${shared}, received, size, receipt, event_id, headers, file, body)
       SELECT ?, ?, ?, ?, ?, ?, CASE WHEN ? AND arrived IS NOT NULL THEN received END, ${shared}, coalesce(arrived, received),
         coalesce(length(body), bytes), receipt, event_id, CASE WHEN ? THEN headers ELSE '[]' END, ?, CASE WHEN ? THEN body END
       FROM envelopes WHERE id = ?`,
    ),
    insert: db.prepare(
      `INSERT INTO entries (state, ended, status, answer, ${shared}, received, size, bytes, stored, receipt, event_id, headers, file, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?)`,
    ),
    one: find(ACCESS.one),
    ofEvent: find(ACCESS.ofEvent),
    all: find(ACCESS.all),
    ofNumber: db.prepare(`${selected} WHERE id = ?`),
    body: db.prepare('SELECT body FROM entries WHERE id = ? AND key = ?'),
    line: db.prepare(`${LINE} WHERE id = ?`),
    lineOfKey: db.prepare(`${LINE} WHERE key = ?`),
    noteResent: db.prepare('UPDATE entries SET resent = ? WHERE id = ?'),
    removeBody: db.prepare(
      "UPDATE entries SET body = NULL, file = NULL, stored = 0, headers = '[]', bytes = ? WHERE id = ?",
    ),
    remove: db.prepare('DELETE FROM entries WHERE id = ?'),
    withFile: db.prepare('SELECT 1 FROM entries INDEXED BY entries_file WHERE file = ?'),
    old: {
      kept: lines('entries_ended', `${isKept} AND ended < ?`),
      dead: lines('entries_dead', "state <> 'kept' AND ended < ?"),
    },
    oldest: {
      // kept entries have no share of a project
      kept: {
        all: ofKept,
        network: lines('entries_kept_network', `${isKept} AND network BETWEEN ? AND ?`),
        project: ofKept,
      },
      dead: oldestDead('entries_dead', 1),
      line: oldestDead('entries_lines', 0),
    },
  }
}
