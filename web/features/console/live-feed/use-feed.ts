/** Live rows of the feed. */
'use client'

import { useRef, useState } from 'react'
import { type StreamState, useEventStream } from '../use-event-stream.ts'
import { type FeedEvent, FeedRows, type Row } from './feed-rows.ts'
import type { FilterOptions } from './filter-options.ts'

const RENDER_MS = 100

type FeedState = { rows: readonly Row[]; options: FilterOptions; state: StreamState }

/** While paused, nothing is read. After the pause, the entries missed meanwhile follow. */
export function useFeed(settings: { isPaused: boolean }): FeedState {
  const [rows] = useState(() => new FeedRows())
  const [, setRendered] = useState(0)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const render = () => {
    timer.current = undefined
    setRendered((times) => times + 1)
  }
  const state = useEventStream<FeedEvent>(
    '/console/receipts',
    (event) => {
      rows.add(event)
      timer.current ??= setTimeout(render, RENDER_MS)
    },
    settings,
  )
  return { rows: rows.all(), options: rows.filterOptions(), state }
}
