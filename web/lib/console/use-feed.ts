/** The receipts that have come, newest first, with what is missing marked among them. */
'use client'

import { useRef, useState } from 'react'
import type { Receipt } from 'tunnel/contract'
import type { Mark } from './feed.ts'
import { type StreamState, useEventStream } from './use-event-stream.ts'

export type Row = { receipt: Receipt } | { mark: Mark }

const MOST = 10_000 // rows; the oldest go

export type FeedState = { rows: readonly Row[]; state: StreamState }

/** While paused nothing is read; after it, what came meanwhile follows. */
export function useFeed(pausing: { isPaused: boolean }): FeedState {
  const rows = useRef<Row[]>([])
  const [, show] = useState(0)
  const due = useRef(0)
  const state = useEventStream<{ receipts: Receipt[]; marks: Mark[] }>(
    '/console/receipts',
    ({ receipts, marks }) => {
      const come = [...marks.map((mark) => ({ mark })), ...receipts.map((receipt) => ({ receipt }))]
      const all = [...come.sort((a, b) => timeOf(b) - timeOf(a)), ...rows.current].slice(0, MOST)
      rows.current = isInOrder(all) ? all : all.sort((a, b) => timeOf(b) - timeOf(a))
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
