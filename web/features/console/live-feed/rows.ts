/** What the feed shows: receipts, newest first, each once, with how their waiting ended, and with what is missing marked among them. */

import type { Receipt, SpoolOutcome } from 'tunnel/contract'
import { type Choices, createChoiceBook } from './filter-options.ts'

/** One event of the stream. An end may come before its receipt: another replica may have told it. */
export type Told = { receipts: Receipt[]; ends: SpoolOutcome[]; marks: Mark[] }

/**
 * What is missing or may be: receipts and ends that a replica no longer kept, at the time of the next that it did; what one that ended
 * had not told yet; and that one does not answer, or does again with nothing lost.
 */
export type Mark =
  | { kind: 'missed'; replica: string; missed: number; time: number }
  | { kind: 'ended' | 'silent' | 'back'; replica: string; time: number }

/** `end`: of one that was spooled and waits no more. */
export type Row = { receipt: Receipt; end?: SpoolOutcome } | { mark: Mark }

/** Rows, and ends; the oldest go. */
export const MOST_ROWS = 10_000

export type Rows = {
  /** A new list after each change. */
  all(): readonly Row[]
  /** What its receipts can be filtered by. */
  choices(): Choices
  /** What is told again, after a break or by a replica that came back, is passed over. */
  takeIn(told: Told): void
}

export function createRows(): Rows {
  let rows: Row[] = []
  let come: Row[] = [] // since `rows` was made, and how many ends
  let ended = 0
  const ids = new Set<string>() // of the receipts among the rows
  const ends = new Map<string, SpoolOutcome>()
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
    ended += told.ends.length
    const receipts = told.receipts.filter(isNew)
    receipts.forEach(book.add)
    come.push(...receipts.map((receipt) => ({ receipt })), ...told.marks.map((mark) => ({ mark })))
    if (come.length + ended > MOST_ROWS) settle()
  }

  /** Once for all that has come since somebody looked: ten thousand rows are not moved for each receipt. */
  function settle(): void {
    if (come.length === 0 && ended === 0) return
    const known = ended > 0 ? rows.map((row) => withEnd(row, ends)) : rows
    const all = [...come.map((row) => withEnd(row, ends)), ...known].sort(newestFirst) // two lists in order, or nearly: soon done
    for (const row of all.splice(MOST_ROWS)) if ('receipt' in row) forget(row.receipt)
    rows = all
    come = []
    ended = 0
    for (const receipt of ends.keys())
      if (ends.size > MOST_ROWS) ends.delete(receipt)
      else break
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
function withEnd(row: Row, ends: ReadonlyMap<string, SpoolOutcome>): Row {
  if ('mark' in row || row.end || row.receipt.outcome !== 'spooled') return row
  const end = ends.get(row.receipt.id)
  return end ? { ...row, end } : row
}

export function timeOf(row: Row): number {
  return 'mark' in row ? row.mark.time : row.receipt.time
}

/** Of one time: what is missing came before the receipt. */
function newestFirst(a: Row, b: Row): number {
  return timeOf(b) - timeOf(a) || Number('mark' in a) - Number('mark' in b)
}

/** One row from another, however often they are drawn. */
export function keyOf(row: Row): string {
  return 'receipt' in row ? row.receipt.id : `${row.mark.kind} ${row.mark.replica} ${row.mark.time}`
}
