/** Spool of one machine: a SQLite file that its replicas share, and large bodies as files beside it. */

import { randomUUID } from 'node:crypto'
import { closeSync, createReadStream, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { link, open, stat, statfs, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SharedState } from '../../pipeline/shared-state.ts'
import {
  type Ending,
  type Entries,
  type EntryFilter,
  type EntryRef,
  type Lease,
  type ListedEntry,
  type PageQuery,
  type Position,
  type PutResult,
  pendingSince,
  type Spool,
  type SpoolBody,
  type SpoolBounds,
  type SpoolDescription,
  type SpoolDisk,
  type SpoolEntry,
  type StoredBody,
  type Summaries,
} from '../../pipeline/spool.ts'
import { BodyGone, WrongSize } from '../body-errors.ts'
import { StoreAway } from '../unreachable.ts'
import { bodyName, endedFolderOf, pendingFolderOf } from './body-files.ts'
import { DamagedFile, isMarkedDamaged, listDamaged } from './damaged-files.ts'
import { LockHeld, rejectSpecialFile } from './locks.ts'
import { divideSpace, type Space } from './space.ts'
import type { SpoolFileOptions } from './spool-file.ts'
import { describeDisk } from './sqlite-durability.ts'
import { type SpoolFileCaller, SpoolWorker } from './threads/worker-client.ts'
import { walFileOf } from './write-ahead-log.ts'

const PROBE_BYTES = 64 * 1024
const MAX_CHANGED = 10_000 // entries purged or made due by one call

export type OpenSpoolFile = (options: SpoolFileOptions) => SpoolFileCaller

/**
 * Opens the file, or creates it. Rejects when it is damaged and another replica has it open, and with `StoreAway` while another replica
 * keeps it locked. `onNotice` receives messages for the operator.
 */
export async function openSqliteSpool(
  file: string,
  bounds: SpoolBounds,
  onNotice: (notice: string) => void = () => {},
  openFile: OpenSpoolFile = (options) => new SpoolWorker(options),
): Promise<Spool> {
  const folder = pendingFolderOf(file)
  for (const each of [folder, endedFolderOf(file)]) mkdirSync(each, { recursive: true, mode: 0o700 })
  rejectSpecialFile(file)
  checkWritable(folder)
  for (const name of [file, `${file}-owners`]) closeSync(openSync(name, 'a', 0o600)) // SQLite gives its other files the same mode
  const space = divideSpace(bounds.bytes, folder)
  const worker = openFile({ file, bounds: { ...bounds, ...space }, newId: randomUUID() })
  const { id, notice } = await worker.opened.catch((error) => {
    throw error instanceof LockHeld || error.name === LockHeld.name
      ? new StoreAway(`SPOOL_URL: ${error.message}`)
      : error
  })
  if (notice) onNotice(notice)
  const isKeeping = bounds.kept !== undefined
  return new SqliteSpool({ id, file, space, worker, isKeeping })
}

type SqliteSpoolParts = {
  id: string
  file: string
  space: Space
  worker: SpoolFileCaller
  isKeeping: boolean
}

class SqliteSpool implements Spool {
  readonly id: string
  readonly take: Spool['take'] = (...args) => this.#worker.call('pending', 'take', ...args)
  readonly postpone: Spool['postpone'] = ({ id, until }, at) =>
    this.#worker.call('pending', 'postpone', id, until, at)
  readonly totals: Spool['totals'] = () => this.#worker.call('pending', 'totals')
  readonly list: Spool['list'] = (query) =>
    'entry' in query || query.eventId === undefined
      ? this.#worker.call('admin', 'list', query)
      : this.#listEvent(query, query.eventId)
  readonly pause: Spool['pause'] = (project) => this.#worker.call('admin', 'pause', project)
  readonly resume: Spool['resume'] = (project) => this.#worker.call('admin', 'resume', project)
  readonly entries: Entries = {
    keep: (entry, body, ending) =>
      this.#withBody(
        ...[this.#endedFolder, entry, body],
        (stored, bytes) => this.#worker.call('entries', 'keep', stored, bytes, ending),
        (result) => result === 'stored',
      ),
    list: (filter, page) => this.#worker.call('entries', 'list', filter, page),
    count: (...args) => this.#worker.call('entries', 'count', ...args),
    read: async ({ id, key, file, bytes }) =>
      file === undefined
        ? viewOf(await this.#worker.call('entries', 'read', id, key))
        : openBody(join(this.#endedFolder, file), bytes),
    resend: (...args) => this.#worker.call('pending', 'resend', ...args),
    purge: (filter) => this.#repeat(() => this.#worker.call('entries', 'purge', filter)),
  }
  readonly summaries: Summaries | undefined
  readonly state: SharedState = {
    get: (key) => this.#worker.call('state', 'get', key),
    put: (key, value, revision) => this.#worker.call('state', 'put', key, value, revision),
    clockOffsetMs: () => 0,
    snapshots: {
      add: (rows) => this.#worker.call('state', 'addSnapshots', rows),
      read: (step, from) => this.#worker.call('state', 'readSnapshots', step, from),
    },
    bundles: {
      read: async (file) => {
        const bytes = await this.#worker.call('state', 'readBundle', file)
        return bytes && new Uint8Array(bytes)
      },
      write: async (bundles) => {
        const writes = Array.from(
          bundles,
          ([file, bytes]) => this.#worker.call('state', 'writeBundle', file, new Uint8Array(bytes)), // the copy is transferred
        )
        await Promise.all(writes)
      },
    },
  }
  readonly #maxBytes: number
  readonly #durability: string
  readonly #file: string
  readonly #rowBytes: number
  readonly #folder: string
  readonly #endedFolder: string
  readonly #worker: SpoolFileCaller

  constructor({ id, file, space, worker, isKeeping }: SqliteSpoolParts) {
    this.id = id
    this.#maxBytes = space.entryBytes
    this.#rowBytes = space.rowBytes
    this.#file = file
    this.#folder = pendingFolderOf(file)
    this.#durability = describeDisk(this.#folder)
    this.#endedFolder = endedFolderOf(file)
    this.#worker = worker
    if (isKeeping)
      this.summaries = {
        list: (...args) => worker.call('summaries', 'list', ...args),
        groups: (...args) => worker.call('summaries', 'groups', ...args),
        find: (receipt) => worker.call('entries', 'findKept', receipt),
        countArrived: (span) => worker.call('summaries', 'countArrived', span),
      }
  }

  async describe(): Promise<SpoolDescription> {
    const disk = await this.#disk().catch(() => undefined)
    return { maxBytes: this.#maxBytes, durability: this.#durability, ...(disk && { disk }) }
  }

  put(entry: SpoolEntry, body: SpoolBody, leaseMs: number): Promise<PutResult> {
    return this.#withBody(
      ...[this.#folder, entry, body],
      (stored, bytes) => this.#worker.call('pending', 'put', stored, bytes, leaseMs),
      ({ kind }) => kind === 'stored',
    )
  }

  /** Writes to the folder of large bodies, then to the database. */
  async probe(): Promise<void> {
    const name = `probe.${randomUUID()}`
    try {
      await writeSynced(this.#folder, name, { chunks: () => [Buffer.alloc(PROBE_BYTES)] })
    } finally {
      await unlink(join(this.#folder, name)).catch(() => undefined)
    }
    await this.#worker.call('pending', 'probe')
  }

  async read({ id, file, bytes }: SpoolEntry & EntryRef): Promise<StoredBody> {
    return file === undefined
      ? viewOf(await this.#worker.call('pending', 'read', id))
      : openBody(join(this.#folder, file), bytes)
  }

  async extend(lease: Lease, leaseMs: number): Promise<Lease> {
    const until = Date.now() + leaseMs
    await this.#worker.call('pending', 'extend', lease.id, lease.until, until)
    return { ...lease, until }
  }

  finish({ id, until, file, bytes }: Lease, ending?: Ending): Promise<boolean> {
    const end = ending && { ...ending, bytes: file === undefined ? bytes : 0 }
    return this.#worker.call('pending', 'finish', id, until, end)
  }

  expire(before: number): Promise<SpoolEntry[]> {
    return this.#removeAll(() => this.#worker.call('pending', 'expire', before), Infinity)
  }

  async #disk(): Promise<SpoolDisk> {
    const [{ bavail, bsize }, wal] = await Promise.all([
      statfs(this.#folder),
      stat(walFileOf(this.#file)).catch(() => undefined), // there is none when it is empty
    ])
    return {
      freeBytes: bavail * bsize,
      walBytes: wal?.size ?? 0,
      damagedFiles: listDamaged(this.#file),
      ...(isMarkedDamaged(this.#file) && { problem: new DamagedFile(this.#file).message }),
    }
  }

  retry(filter: EntryFilter): Promise<number> {
    return this.#repeat(() => this.#worker.call('admin', 'retry', filter))
  }

  purge(filter: EntryFilter): Promise<SpoolEntry[]> {
    return this.#removeAll(() => this.#worker.call('admin', 'purge', filter), MAX_CHANGED)
  }

  close(): Promise<void> {
    return this.#worker.close()
  }

  /**
   * Stores an entry with the bytes of a small body. Writes a large one to a file before that, under a unique name, so that no row is without
   * its file, and removes it when no row is stored.
   */
  async #withBody<T>(
    folder: string,
    entry: SpoolEntry,
    body: SpoolBody,
    store: (entry: SpoolEntry, bytes: Buffer | undefined) => Promise<T>,
    isStored: (result: T) => boolean,
  ): Promise<T> {
    if (entry.bytes <= this.#rowBytes) return store(entry, await copyBytes(body, entry.bytes))
    const file = bodyName(entry.key)
    let isNeeded = false
    try {
      await writeSynced(folder, file, body)
      const result = await store({ ...entry, file }, undefined)
      isNeeded = isStored(result)
      return result
    } finally {
      if (!isNeeded) await unlink(join(folder, file)).catch(() => undefined)
    }
  }

  /** Reads all pending entries in steps, so that other calls get their turn. */
  async #listEvent(query: PageQuery, eventId: string): Promise<ListedEntry[]> {
    const { projects, category, from = 0, to = Infinity, order, limit, after } = query
    const found: ListedEntry[] = []
    for (let last = 0, isOver = false; !isOver; ) {
      const step = await this.#worker.call('admin', 'findEvent', eventId, last)
      found.push(...step.found)
      isOver = step.last === undefined
      last = step.last ?? last
    }
    const sign = order === 'newest' ? -1 : 1
    const compare = (a: Position, b: Position) => sign * (a.received - b.received || a.place - b.place)
    const positionOf = (entry: ListedEntry) => ({ received: pendingSince(entry), place: entry.place })
    return found
      .filter((entry) => projects?.includes(entry.project) ?? true)
      .filter((entry) => category === undefined || entry.category === category)
      .filter((entry) => pendingSince(entry) >= from && pendingSince(entry) <= to)
      .filter((entry) => !after || compare(positionOf(entry), after) > 0)
      .sort((a, b) => compare(positionOf(a), positionOf(b)))
      .slice(0, limit)
  }

  /** Changes entries in batches, so that other calls get their turn. Returns their number. */
  async #repeat(changeBatch: () => Promise<number>): Promise<number> {
    let changed = 0
    while (changed < MAX_CHANGED) {
      const batch = await changeBatch()
      if (batch === 0) break
      changed += batch
    }
    return changed
  }

  /**
   * Removes entries in batches, so that other calls get their turn, until none or `limit` are removed. Returns those that are removed also
   * when a later batch fails: only the caller can report their final outcome.
   */
  async #removeAll(removeBatch: () => Promise<SpoolEntry[]>, limit: number): Promise<SpoolEntry[]> {
    const removed: SpoolEntry[] = []
    while (removed.length < limit) {
      const batch = await removeBatch().catch((error) => {
        if (removed.length === 0) throw error
        return []
      })
      if (batch.length === 0) break
      removed.push(...batch)
    }
    return removed
  }
}

async function openBody(path: string, bytes: number): Promise<StoredBody> {
  const { size } = await stat(path)
  if (size !== bytes) throw new WrongSize(`The body ${path}`, size, bytes)
  return { open: () => createReadStream(path) }
}

/** Views the bytes of a row as a buffer. Throws without them. */
function viewOf(row: Uint8Array | undefined): Buffer {
  if (!row) throw new BodyGone()
  return Buffer.from(row.buffer, row.byteOffset, row.byteLength)
}

/** Throws when no body can be written to the folder. A full disk may have room later. */
function checkWritable(folder: string): void {
  const name = join(folder, `probe.${randomUUID()}`)
  try {
    writeFileSync(name, '', { mode: 0o600 })
    rmSync(name, { force: true }) // a replica that starts first removes files without an entry
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `SPOOL_URL: "${folder}" cannot be written to (${reason}); give it to the user of the tunnel, or make its disk writable`,
    )
  }
}

/** Copies a body, to be transferred. Rejects when it does not have `bytes` bytes. */
async function copyBytes(body: SpoolBody, bytes: number): Promise<Buffer> {
  const whole = Buffer.allocUnsafeSlow(bytes)
  let at = 0
  for await (const chunk of body.chunks()) {
    chunk.copy(whole, at)
    at += chunk.length
  }
  if (at !== bytes) throw new Error(`a body of ${bytes} bytes turned out to have ${at}`)
  return whole
}

/** Writes a file, and syncs it and its folder. Links the file that holds the body already, where both are on one disk. */
async function writeSynced(folder: string, name: string, body: SpoolBody): Promise<void> {
  const path = join(folder, name)
  const isLinked = body.file !== undefined && (await link(body.file, path).then(...TRUE_OR_FALSE))
  if (!isLinked) await writeFile(path, body.chunks(), { flag: 'wx', mode: 0o600 })
  await sync(path)
  await sync(folder)
}

const TRUE_OR_FALSE = [() => true, () => false] as const

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
