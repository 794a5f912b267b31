/** Live state of all replicas, and the figures of a range. */
'use client'

import { useState } from 'react'
import { type StreamState, useEventStream } from '../use-event-stream.ts'
import { continueView, type LiveEvent, type LiveView } from './live-view.ts'

/** Returns `first`, which the server has rendered, until the first event of its range. */
export function useLive(first: LiveView): LiveView & { state: StreamState } {
  const [known, setKnown] = useState(first)
  const state = useEventStream<LiveEvent>(`/console/live?range=${first.range}`, (event) =>
    setKnown((before) => continueView(before.range === event.range ? before : first, event)),
  )
  return { ...(known.range === first.range ? known : first), state }
}
