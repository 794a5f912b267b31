/** Reads the entries of a damaged spool file, each verified by its key. */

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { identify } from '../../envelope/dedupe-key.ts'
import type { SpoolEntry } from '../spool.ts'
import { openDatabase } from '../sqlite/schema.ts'
import { indexRecords, leafRows, type RowRange, type TableRow, TableWalk, type Value } from './b-tree.ts'
import { Pages } from './pages.ts'

/** `body` is absent when a file holds it. */
export type FoundEntry = { entry: SpoolEntry; body: Buffer | undefined }

const SCHEMA_PAGE = 1
const ENTRIES = 'envelopes'
const TOTALS = 'totals'
/** Columns in the order in which the migrations created them. */
const COLUMNS = [
  ...['id', 'key', 'project', 'category', 'priority', 'network', 'received', 'due', 'attempts', 'bytes'],
  ...['receipt', 'headers', 'file', 'body', 'put_off', 'wire_bytes'],
] as const
const KEY = /^[0-9a-f]{32}$/

export class DamagedSpool {
  /** Entries that are lost, as far as the file tells, after all entries were read. */
  unreadable = 0
  readonly #pages: Pages
  readonly #bodies: string

  constructor(file: string) {
    this.#pages = new Pages(file)
    this.#bodies = join(dirname(file), 'bodies')
  }

  /**
   * Walks the table, then looks for the rows of its unreachable parts on all other pages. Deleted rows are still there: only row numbers that
   * the walk has missed count, and pages that are known to be free do not.
   */
  async *entries(): AsyncGenerator<FoundEntry> {
    const { entries, totals } = this.#roots()
    const walk = new TableWalk(this.#pages)
    let [found, broken] = [0, 0]
    for (const row of walk.rows(entries)) {
      const entry = await this.#verify(row)
      if (entry) {
        found++
        yield entry
      } else broken++
    }
    if (walk.missing.length > 0)
      for await (const entry of this.#scan(walk)) {
        found++
        yield entry
      }
    this.unreadable = Math.max(broken, this.#total(totals) - found)
  }

  close(): void {
    this.#pages.close()
  }

  async *#scan({ visited, missing }: TableWalk): AsyncGenerator<FoundEntry> {
    const free = this.#pages.free()
    const keys = new Set<string>() // a page that was split may have left copies of its rows
    for (let page = SCHEMA_PAGE + 1; page <= this.#pages.count; page++) {
      if (visited.has(page) || free.has(page)) continue
      for (const row of leafRows(this.#pages, page)) {
        const found = missing.some((range) => isWithin(row, range)) ? await this.#verify(row) : undefined
        if (!found || keys.has(found.entry.key)) continue
        keys.add(found.entry.key)
        yield found
      }
    }
  }

  /** Returns `undefined` unless the row is an entry with the body that its key was made from. */
  async #verify({ values }: TableRow): Promise<FoundEntry | undefined> {
    const row = values && readRow(values)
    if (!row) return undefined
    const { entry, body } = row
    if (entry.file === undefined || body) {
      const isWhole = body !== undefined && (await identify(entry.project, body)) === entry.key
      return isWhole ? { entry: { ...entry, bytes: body.length }, body } : undefined
    }
    try {
      const file = join(this.#bodies, entry.file)
      const { size } = await stat(file)
      const isWhole = (await identify(entry.project, createReadStream(file))) === entry.key
      return isWhole ? { entry: { ...entry, bytes: size }, body } : undefined
    } catch {
      return undefined // the file is gone
    }
  }

  /** Returns the number of entries that the file should have; 0 when its total is lost. */
  #total(root: number): number {
    for (const [kind, , , envelopes] of indexRecords(this.#pages, root))
      if (kind === 'all') return Number(envelopes)
    return 0
  }

  /** Returns the root pages of two tables. They never move: a new file tells those that a damaged schema does not. */
  #roots(): { entries: number; totals: number } {
    const known = defaultRoots()
    for (const { values } of new TableWalk(this.#pages).rows(SCHEMA_PAGE)) {
      const [type, name, , root] = values ?? []
      if (type === 'table' && typeof name === 'string' && typeof root === 'number') known.set(name, root)
    }
    return { entries: known.get(ENTRIES) ?? 0, totals: known.get(TOTALS) ?? 0 }
  }
}

function defaultRoots(): Map<string, number> {
  const db = openDatabase(':memory:', '')
  try {
    const rows = db.prepare("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table'").all()
    return new Map(rows.map(({ name, rootpage }) => [String(name), Number(rootpage)]))
  } finally {
    db.close()
  }
}

function isWithin({ rowId }: TableRow, { low, high }: RowRange): boolean {
  return rowId > low && rowId <= high
}

/** Returns `undefined` for values that are no row of the table. */
function readRow(values: readonly Value[]): FoundEntry | undefined {
  const row = Object.fromEntries(COLUMNS.map((name, column) => [name, values[column] ?? null]))
  const { key, project, category, network, receipt, headers, file, body } = row
  if (typeof key !== 'string' || !KEY.test(key) || !Buffer.isBuffer(body ?? Buffer.alloc(0))) return undefined
  const names = readHeaders(headers ?? null)
  if (!names) return undefined
  const entry = {
    ...{ key, project: String(project), category: String(category), priority: Number(row.priority) },
    ...{ network: String(network), received: Number(row.received), bytes: Number(row.bytes) },
    ...{ receipt: String(receipt), headers: names, ...(typeof file === 'string' && { file }) },
  }
  return { entry, body: Buffer.isBuffer(body) ? body : undefined }
}

function readHeaders(text: Value): string[] | undefined {
  try {
    const headers: unknown = JSON.parse(String(text))
    const isList = Array.isArray(headers) && headers.every((each) => typeof each === 'string')
    return isList ? headers : undefined
  } catch {
    return undefined
  }
}
