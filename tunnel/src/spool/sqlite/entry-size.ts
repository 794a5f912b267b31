/** What an envelope takes of the disk in SQLite's file, or beside it, so that the bound is one on the disk. */

import type { SpoolEntry } from '../spool.ts'

const PAGE = 4096 // SQLite's own default
const LOCAL_MOST = PAGE - 35 // what a row has beyond goes on pages of its own: https://sqlite.org/fileformat2.html#b_tree_pages
const LOCAL_LEAST = Math.floor(((PAGE - 12) * 32) / 255) - 23
const BESIDE = 64 // of a row: numbers, and the lengths of its columns
const INDEXED = 150 // of four indexes, beside what they repeat of the row

/** A body that is a file of its own is larger by far than its row. */
export function weightOf({
  key,
  project,
  category,
  network,
  receipt,
  headers,
  bytes,
  file,
}: SpoolEntry): number {
  if (file !== undefined) return bytes
  const texts = key.length + project.length + category.length + network.length + receipt.length
  const row = texts + Buffer.byteLength(JSON.stringify(headers)) + bytes + BESIDE
  const indexed = 2 * key.length + 2 * (project.length + category.length) + INDEXED // keys come in no order: their pages are half full at worst
  return inPages(row) + indexed
}

/** Rows are not spread over pages: one that is larger than half of a page has it for itself. */
function inPages(row: number): number {
  const rest = row <= LOCAL_MOST ? row : LOCAL_LEAST + ((row - LOCAL_LEAST) % (PAGE - 4))
  const local = rest <= LOCAL_MOST ? rest : LOCAL_LEAST
  const overflow = Math.ceil((row - local) / (PAGE - 4))
  return Math.ceil(PAGE / Math.floor(PAGE / local)) + overflow * PAGE
}
