/** Spool entry as a row of the SQLite file, and its size on disk. */

import type { SQLInputValue, SQLOutputValue } from 'node:sqlite'
import { pendingSince, type SpoolEntry } from '../../pipeline/spool.ts'

export type Row = Record<string, SQLOutputValue>

export type StoredEntry = SpoolEntry & { id: number }

/** Columns that `columnsOf` fills, in its order. `bytes` is the size on disk. */
export const COLUMNS =
  'key, project, category, priority, network, received, bytes, receipt, headers, file, event_id, arrived'

/** Columns that `readEntry` reads. SQLite knows the length of a body without reading it. */
export const SELECTED = `id, attempts, ${COLUMNS}, coalesce(length(body), bytes) AS body_bytes`

export function columnsOf(entry: SpoolEntry): SQLInputValue[] {
  const { key, project, category, priority, network, received, resent, receipt, headers, file, eventId } =
    entry
  return [
    ...[key, project, category, priority, network, pendingSince(entry)],
    ...[diskBytesOf(entry), receipt, JSON.stringify(headers), file ?? null],
    ...[eventId ?? null, resent === undefined ? null : received],
  ]
}

/** Reads a row of either table. The arrival of a pending entry that was resent is `arrived`: it expires by `received`. */
export function readEntry(row: Row): StoredEntry {
  const { received, arrived, resent = arrived == null ? null : received } = row
  return {
    id: Number(row.id),
    key: String(row.key),
    project: String(row.project),
    category: String(row.category),
    priority: Number(row.priority),
    network: String(row.network),
    received: Number(arrived ?? received),
    bytes: Number(row.body_bytes),
    receipt: String(row.receipt),
    ...(row.event_id !== null && { eventId: String(row.event_id) }),
    ...(resent !== null && { resent: Number(resent) }),
    headers: JSON.parse(String(row.headers)),
    file: row.file === null ? undefined : String(row.file),
  }
}

/** Returns `undefined` when the body is a file, or the row is gone. */
export function bodyOf(row: Row | undefined): Uint8Array | undefined {
  return row?.body instanceof Uint8Array ? row.body : undefined
}

// sqlite.org/fileformat2.html#b_tree_pages
export const PAGE_BYTES = 4096
const MAX_LOCAL = PAGE_BYTES - 35 // the rest of a larger row is on pages of its own
const MIN_LOCAL = Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23
const ROW_OVERHEAD = 64 // numbers, and the lengths of the columns
const INDEX_OVERHEAD = 150 // of four indexes, beside the columns that they repeat

/** Returns the bytes that an entry takes on disk, in the database or as a file. The row of a file is not counted. */
export function diskBytesOf(entry: SpoolEntry): number {
  const { key, project, category, network, receipt, headers, bytes, file, eventId = '' } = entry
  if (file !== undefined) return bytes
  const texts = key.length + project.length + category.length + network.length + receipt.length
  const row = texts + eventId.length + Buffer.byteLength(JSON.stringify(headers)) + bytes + ROW_OVERHEAD
  const indexed =
    2 * key.length + 2 * eventId.length + 2 * (project.length + category.length) + INDEX_OVERHEAD // random keys: pages may be half full
  return pageBytes(row) + indexed
}

/** Returns the bytes of the pages of a row. A row larger than half a page has the page to itself. */
function pageBytes(row: number): number {
  const rest = row <= MAX_LOCAL ? row : MIN_LOCAL + ((row - MIN_LOCAL) % (PAGE_BYTES - 4))
  const local = rest <= MAX_LOCAL ? rest : MIN_LOCAL
  const overflow = Math.ceil((row - local) / (PAGE_BYTES - 4))
  return Math.ceil(PAGE_BYTES / Math.floor(PAGE_BYTES / local)) + overflow * PAGE_BYTES
}
