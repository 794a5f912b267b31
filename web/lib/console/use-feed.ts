/** The rows of the feed as they come, live. */
'use client'

import { useRef, useState } from 'react'
import type { Told } from './feed.ts'
import { createRows, type Row, type Rows } from './rows.ts'
import { type StreamState, useEventStream } from './use-event-stream.ts'

export type FeedState = { rows: readonly Row[]; state: StreamState }

/** While paused nothing is read; after it, what came meanwhile follows. */
export function useFeed(pausing: { isPaused: boolean }): FeedState {
  const held = useRef<Rows>(undefined)
  held.current ??= createRows()
  const rows = held.current
  const [, show] = useState(0)
  const due = useRef(0)
  const state = useEventStream<Told>(
    '/console/receipts',
    (told) => {
      rows.takeIn(told)
      // One render for all that comes within a frame.
      if (due.current === 0)
        due.current = requestAnimationFrame(() => {
          due.current = 0
          show((times) => times + 1)
        })
    },
    pausing,
  )
  return { rows: rows.all(), state }
}
