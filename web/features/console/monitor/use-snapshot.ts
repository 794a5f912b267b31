/** Live summary of all replicas. */
'use client'

import { useState } from 'react'
import { type StreamState, useEventStream } from '../use-event-stream.ts'
import type { Point } from './replica-monitor.ts'
import type { OverviewSnapshot } from './snapshot.ts'

const HISTORY_MS = 15 * 60 * 1000 // 15 min

/** Event of `/console/live`. The first one has the history. */
export type LiveEvent = { overview: OverviewSnapshot; history?: Point[] }

export type Live = { overview: OverviewSnapshot; points: Point[]; state: StreamState }

export function useLive(first: OverviewSnapshot, history: Point[] = []): Live {
  const [overview, setOverview] = useState(first)
  const [points, setPoints] = useState(history)
  const state = useEventStream<LiveEvent>('/console/live', (event) => {
    setOverview(event.overview)
    setPoints((known) => recent(event.history ?? [...known, event.overview.point]))
  })
  return { overview, points, state }
}

function recent(points: Point[]): Point[] {
  const from = (points.at(-1)?.time ?? 0) - HISTORY_MS
  return points.filter((point, index) => point.time > from && point.time !== points[index - 1]?.time)
}
