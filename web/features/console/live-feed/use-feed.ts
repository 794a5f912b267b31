/** The rows of the feed as they come, live. */
'use client'

import { useRef, useState } from 'react'
import { type StreamState, useEventStream } from '../use-event-stream.ts'
import type { Choices } from './filter-options.ts'
import { createRows, type Row, type Rows, type Told } from './rows.ts'

const SHOWN_EVERY_MS = 100 // nobody reads faster

export type FeedState = { rows: readonly Row[]; choices: Choices; state: StreamState }

/** While paused nothing is read; after it, what came meanwhile follows. */
export function useFeed(pausing: { isPaused: boolean }): FeedState {
  const held = useRef<Rows>(undefined)
  held.current ??= createRows()
  const rows = held.current
  const [, show] = useState(0)
  const due = useRef<ReturnType<typeof setTimeout>>(undefined)
  const state = useEventStream<Told>(
    '/console/receipts',
    (told) => {
      rows.takeIn(told)
      due.current ??= setTimeout(() => {
        due.current = undefined
        show((times) => times + 1)
      }, SHOWN_EVERY_MS)
    },
    pausing,
  )
  return { rows: rows.all(), choices: rows.choices(), state }
}
