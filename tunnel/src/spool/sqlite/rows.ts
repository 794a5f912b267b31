/** An envelope as a row of the spool's SQLite file. */

import type { SQLInputValue, SQLOutputValue } from 'node:sqlite'
import type { SpoolEntry } from '../spool.ts'
import { weightOf } from './entry-size.ts'

export type Row = Record<string, SQLOutputValue>

export type Victim = SpoolEntry & { id: number }

/** What `columnsOf` writes, in its order. */
export const COLUMNS =
  'key, project, category, priority, network, received, bytes, receipt, headers, file, wire_bytes'

/** What `readWaiting` reads. In a row `bytes` is what it takes of the disk; how long a body in it is SQLite tells without reading it. */
export const READ = `id, attempts, ${COLUMNS}, coalesce(length(body), bytes) AS body_bytes`

export function columnsOf(envelope: SpoolEntry): SQLInputValue[] {
  const { key, project, category, priority, network, received, receipt, headers, file, wireBytes } = envelope
  return [
    key,
    project,
    category,
    priority,
    network,
    received,
    weightOf(envelope),
    receipt,
    JSON.stringify(headers),
    file ?? null,
    wireBytes ?? null,
  ]
}

export function readEntry(row: Row): Victim {
  return {
    id: Number(row.id),
    key: String(row.key),
    project: String(row.project),
    category: String(row.category),
    priority: Number(row.priority),
    network: String(row.network),
    received: Number(row.received),
    bytes: Number(row.body_bytes),
    receipt: String(row.receipt),
    headers: JSON.parse(String(row.headers)),
    file: row.file === null ? undefined : String(row.file),
    ...(row.wire_bytes !== null && { wireBytes: Number(row.wire_bytes) }),
  }
}
