/** The receipts that have come, newest first, with how their waiting ended, and with what is missing marked among them. */
'use client'

import { useRef, useState } from 'react'
import type { Receipt, SpoolEnd } from 'tunnel/contract'
import type { Mark, Told } from './feed.ts'
import { type StreamState, useEventStream } from './use-event-stream.ts'

/** `end`: of one that was spooled and waits no more. */
export type Row = { receipt: Receipt; end?: SpoolEnd } | { mark: Mark }

/** Rows, and ends; the oldest go. */
export const MOST_ROWS = 10_000

export type FeedState = { rows: readonly Row[]; state: StreamState }

/** While paused nothing is read; after it, what came meanwhile follows. */
export function useFeed(pausing: { isPaused: boolean }): FeedState {
  const rows = useRef<Row[]>([])
  const [, show] = useState(0)
  const due = useRef(0)
  const ends = useRef(new Map<string, SpoolEnd>())
  const state = useEventStream<Told>(
    '/console/receipts',
    (told) => {
      rows.current = takeIn(rows.current, ends.current, told)
      // One render for all that comes within a frame.
      if (due.current === 0)
        due.current = requestAnimationFrame(() => {
          due.current = 0
          show((times) => times + 1)
        })
    },
    pausing,
  )
  return { rows: rows.current, state }
}

/** Changes `ends`, and gives new rows. */
function takeIn(rows: Row[], ends: Map<string, SpoolEnd>, told: Told): Row[] {
  for (const end of told.ends) ends.set(end.receipt, end)
  for (const receipt of ends.keys())
    if (ends.size > MOST_ROWS) ends.delete(receipt)
    else break
  const come: Row[] = [
    ...told.marks.map((mark) => ({ mark })),
    ...told.receipts.map((receipt) => withEnd({ receipt }, ends)),
  ]
  const known = told.ends.length > 0 ? rows.map((row) => withEnd(row, ends)) : rows
  const all = [...come.sort((a, b) => timeOf(b) - timeOf(a)), ...known].slice(0, MOST_ROWS)
  return isInOrder(all) ? all : all.sort((a, b) => timeOf(b) - timeOf(a))
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
