/** What the feed shows: receipts, newest first, each once, with how their waiting ended, and with what is missing marked among them. */

import type { Receipt, SpoolEnd } from 'tunnel/contract'
import { type Choices, createChoiceBook } from './choices.ts'
import type { Mark, Told } from './feed.ts'

/** `end`: of one that was spooled and waits no more. */
export type Row = { receipt: Receipt; end?: SpoolEnd } | { mark: Mark }

/** Rows, and ends; the oldest go. */
export const MOST_ROWS = 10_000

export type Rows = {
  /** A new list after each change. */
  all(): readonly Row[]
  /** What its receipts can be filtered by; a new object only where that has changed. */
  choices(): Choices
  /** What is told again, after a break or by a replica that came back, is passed over. */
  takeIn(told: Told): void
}

export function createRows(): Rows {
  let rows: Row[] = []
  let come: Row[] = [] // since `rows` was made
  let hasEnded = false
  const ids = new Set<string>() // of the receipts among the rows
  const ends = new Map<string, SpoolEnd>()
  const book = createChoiceBook()
  return { all, choices, takeIn }

  function all(): readonly Row[] {
    settle()
    return rows
  }

  function choices(): Choices {
    settle()
    return book.all()
  }

  function takeIn(told: Told): void {
    for (const end of told.ends) ends.set(end.receipt, end)
    for (const receipt of ends.keys())
      if (ends.size > MOST_ROWS) ends.delete(receipt)
      else break
    const receipts = told.receipts.filter(isNew)
    receipts.forEach(book.add)
    come.push(...receipts.map((receipt) => ({ receipt })))
    come.push(...told.marks.map((mark) => ({ mark }))) // of one time with a receipt: what is missing came before it
    hasEnded ||= told.ends.length > 0
    if (come.length > MOST_ROWS) settle()
  }

  /** Once for all that has come since somebody looked: ten thousand rows are not moved for each receipt. */
  function settle(): void {
    if (come.length === 0 && !hasEnded) return
    const known = hasEnded ? rows.map((row) => withEnd(row, ends)) : rows
    const all = [...come.map((row) => withEnd(row, ends)).sort(newestFirst), ...known]
    if (!isInOrder(all)) all.sort(newestFirst)
    for (const row of all.splice(MOST_ROWS)) if ('receipt' in row) forget(row.receipt)
    rows = all
    come = []
    hasEnded = false
  }

  function isNew({ id }: Receipt): boolean {
    const isKnown = ids.has(id)
    ids.add(id)
    return !isKnown
  }

  function forget(receipt: Receipt): void {
    ids.delete(receipt.id)
    book.remove(receipt)
  }
}

/** The row itself where nothing has changed. */
function withEnd(row: Row, ends: ReadonlyMap<string, SpoolEnd>): Row {
  if ('mark' in row || row.end || row.receipt.answer !== 'spooled') return row
  const end = ends.get(row.receipt.id)
  return end ? { ...row, end } : row
}

export function timeOf(row: Row): number {
  return 'mark' in row ? row.mark.time : row.receipt.time
}

function newestFirst(a: Row, b: Row): number {
  return timeOf(b) - timeOf(a)
}

const LOOKED_AT = 1_000 // what comes late, comes soon after

function isInOrder(rows: Row[]): boolean {
  for (let at = 1; at < Math.min(rows.length, LOOKED_AT); at++) {
    const [before, after] = [rows[at - 1], rows[at]]
    if (before && after && timeOf(before) < timeOf(after)) return false
  }
  return true
}

/** One row from another, however often they are drawn. */
export function keyOf(row: Row): string {
  return 'receipt' in row ? row.receipt.id : `${row.mark.kind} ${row.mark.replica} ${row.mark.time}`
}
