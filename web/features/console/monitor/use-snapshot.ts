/** Live summary of all replicas. */
'use client'

import { useState } from 'react'
import { type StreamState, useEventStream } from '../use-event-stream.ts'
import type { Point } from './replica-monitor.ts'
import type { OverviewSnapshot } from './snapshot.ts'

const HISTORY_MS = 15 * 60 * 1000 // 15 min

/** Event of `/console/live`. The first one has the history, which may end before its snapshot. */
export type LiveEvent = { overview: OverviewSnapshot; history?: Point[] }

export type Live = { overview: OverviewSnapshot; points: Point[]; state: StreamState }

export function useLive(first: OverviewSnapshot, history: Point[] = []): Live {
  const [overview, setOverview] = useState(first)
  const [points, setPoints] = useState(history)
  const state = useEventStream<LiveEvent>('/console/live', (event) => {
    setOverview(event.overview)
    setPoints((known) => continuePoints(known, event))
  })
  return { overview, points, state }
}

/** Returns the points of the last 15 minutes. They begin with the first response of a replica. */
export function continuePoints(known: Point[], { overview, history }: LiveEvent): Point[] {
  const before = history ?? known
  if (before.length === 0 && overview.point.isGap) return [] // its totals are unknown: the first known ones would look like growth
  const points = [...before, overview.point]
  const from = overview.point.time - HISTORY_MS
  return points.filter((point, index) => point.time > from && point.time !== points[index - 1]?.time)
}
