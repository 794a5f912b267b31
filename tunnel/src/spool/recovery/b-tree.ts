/** B-tree pages and records of a SQLite file that may be damaged (sqlite.org/fileformat2.html). */

import { MAX_LOCAL, MIN_LOCAL, PAGE_BYTES } from '../sqlite/entry-row.ts'
import type { Pages } from './pages.ts'

export type Value = number | string | Buffer | null

/** Row of a table; `values` is `undefined` when it cannot be read. */
export type TableRow = { rowId: number; values: Value[] | undefined }

/** Rows from above `low` up to `high`. */
export type RowRange = { low: number; high: number }

const INDEX_INTERIOR = 0x02
const TABLE_INTERIOR = 0x05
const INDEX_LEAF = 0x0a
const TABLE_LEAF = 0x0d
const FILE_HEADER_BYTES = 100
const MAX_CELLS = PAGE_BYTES / 4
const OVERFLOW_BYTES = PAGE_BYTES - 4

/** Walks a table from its root, and notes what it could not reach. */
export class TableWalk {
  readonly visited = new Set<number>()
  readonly missing: RowRange[] = []
  readonly #pages: Pages

  constructor(pages: Pages) {
    this.#pages = pages
  }

  *rows(page: number, range: RowRange = { low: -Infinity, high: Infinity }): Generator<TableRow> {
    const node = this.visited.has(page)
      ? undefined
      : readNode(this.#pages, page, [TABLE_INTERIOR, TABLE_LEAF])
    if (!node) {
      this.missing.push(range)
      return
    }
    this.visited.add(page)
    if (node.type === TABLE_LEAF) yield* rowsOfLeaf(this.#pages, node)
    else yield* this.#rowsOfChildren(node, range)
  }

  *#rowsOfChildren({ content, cells, rightChild }: Node, { low, high }: RowRange): Generator<TableRow> {
    let last = low
    for (const at of cells) {
      const { value: key } = readVarint(content, at + 4)
      yield* this.rows(content.readUInt32BE(at), { low: last, high: key })
      last = key
    }
    yield* this.rows(rightChild, { low: last, high })
  }
}

/** Returns the rows of a page, if it looks like a leaf of a table. */
export function leafRows(pages: Pages, page: number): TableRow[] {
  const node = readNode(pages, page, [TABLE_LEAF])
  return node ? [...rowsOfLeaf(pages, node)] : []
}

/** Walks an index, or a table without row numbers. Leaves out what cannot be read. Its records fit into their pages. */
export function* indexRecords(pages: Pages, root: number): Generator<Value[]> {
  const visited = new Set<number>()
  const pending = [root]
  for (let page = pending.pop(); page !== undefined; page = pending.pop()) {
    const node = visited.has(page) ? undefined : readNode(pages, page, [INDEX_INTERIOR, INDEX_LEAF])
    visited.add(page)
    if (!node) continue
    const isLeaf = node.type === INDEX_LEAF
    for (const at of node.cells) {
      const bytes = readVarint(node.content, isLeaf ? at : at + 4)
      const record = readRecord(node.content.subarray(bytes.end, bytes.end + bytes.value))
      if (record) yield record
      if (!isLeaf) pending.push(node.content.readUInt32BE(at))
    }
    if (!isLeaf) pending.push(node.rightChild)
  }
}

/** `cells` are the positions of the cells in the page. */
type Node = { type: number; content: Buffer; cells: number[]; rightChild: number }

/** Returns `undefined` for a page of another type, or with impossible numbers. */
function readNode(pages: Pages, page: number, types: readonly number[]): Node | undefined {
  const content = pages.read(page)
  if (!content) return undefined
  const start = page === 1 ? FILE_HEADER_BYTES : 0
  const type = content[start] ?? 0
  const cellCount = content.readUInt16BE(start + 3)
  if (!types.includes(type) || cellCount > MAX_CELLS) return undefined
  const isInterior = type === TABLE_INTERIOR || type === INDEX_INTERIOR
  const first = start + (isInterior ? 12 : 8)
  const cells = Array.from({ length: cellCount }, (_, cell) => content.readUInt16BE(first + 2 * cell))
  const lowest = first + 2 * cellCount
  if (cells.some((at) => at < lowest || at > PAGE_BYTES - 4)) return undefined
  return { type, content, cells, rightChild: isInterior ? content.readUInt32BE(start + 8) : 0 }
}

function* rowsOfLeaf(pages: Pages, { content, cells }: Node): Generator<TableRow> {
  for (const at of cells) {
    const payloadBytes = readVarint(content, at)
    const rowId = readVarint(content, payloadBytes.end)
    const payload = readPayload(pages, content, rowId.end, payloadBytes.value)
    yield { rowId: rowId.value, values: payload && readRecord(payload) }
  }
}

/** Reads a payload with its overflow pages. Returns `undefined` when its chain is broken. */
function readPayload(pages: Pages, content: Buffer, at: number, bytes: number): Buffer | undefined {
  const rest = MIN_LOCAL + ((bytes - MIN_LOCAL) % OVERFLOW_BYTES)
  const local = bytes <= MAX_LOCAL ? bytes : rest <= MAX_LOCAL ? rest : MIN_LOCAL
  if (at + local > PAGE_BYTES || bytes > pages.count * PAGE_BYTES) return undefined
  const pieces = [content.subarray(at, at + local)]
  let left = bytes - local
  if (left > 0 && at + local + 4 > PAGE_BYTES) return undefined
  for (let next = left > 0 ? content.readUInt32BE(at + local) : 0; left > 0; ) {
    const page = pages.read(next)
    if (!page) return undefined
    pieces.push(page.subarray(4, 4 + Math.min(left, OVERFLOW_BYTES)))
    left -= OVERFLOW_BYTES
    next = page.readUInt32BE(0)
  }
  return Buffer.concat(pieces)
}

function readRecord(payload: Buffer): Value[] | undefined {
  const header = readVarint(payload, 0)
  if (header.value > payload.length) return undefined
  const values: Value[] = []
  let at = header.value
  for (let position = header.end; position < header.value; ) {
    const type = readVarint(payload, position)
    const bytes = bytesOfType(type.value)
    if (bytes === undefined || at + bytes > payload.length) return undefined
    values.push(readValue(payload.subarray(at, at + bytes), type.value))
    at += bytes
    position = type.end
  }
  return values
}

function bytesOfType(type: number): number | undefined {
  if (type >= 12) return Math.floor((type - 12) / 2)
  return [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type]
}

function readValue(bytes: Buffer, type: number): Value {
  if (type === 0) return null
  if (type === 7) return bytes.readDoubleBE(0)
  if (type === 8 || type === 9) return type - 8
  if (type >= 12) return type % 2 === 0 ? bytes : bytes.toString('utf8')
  return bytes.length > 6 ? Number(bytes.readBigInt64BE(0)) : bytes.readIntBE(0, bytes.length)
}

/** Reads a variable-length integer; those above 2^53 are inexact, and in no healthy file. */
function readVarint(bytes: Buffer, start: number): { value: number; end: number } {
  let value = 0
  for (let at = start; at < start + 8; at++) {
    const byte = bytes[at] ?? 0
    value = value * 128 + (byte & 0x7f)
    if (byte < 0x80) return { value, end: at + 1 }
  }
  return { value: value * 256 + (bytes[start + 8] ?? 0), end: start + 9 }
}
