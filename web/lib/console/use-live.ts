/** All replicas added up, as it happens. */
'use client'

import { useState } from 'react'
import { type StreamState, useEventStream } from './use-event-stream.ts'
import type { Point, Snapshot } from './watch.ts'

const SHOWN_MS = 15 * 60 * 1000 // 15 min

export type Live = { snapshot: Snapshot; points: Point[]; state: StreamState }

export function useLive(first: Snapshot, past: Point[] = []): Live {
  const [snapshot, setSnapshot] = useState(first)
  const [points, setPoints] = useState(past)
  const state = useEventStream<{ snapshot: Snapshot; history?: Point[] }>('/console/live', (told) => {
    setSnapshot(told.snapshot)
    setPoints((known) => recent(told.history ?? [...known, told.snapshot.point]))
  })
  return { snapshot, points, state }
}

function recent(points: Point[]): Point[] {
  const from = (points.at(-1)?.time ?? 0) - SHOWN_MS
  return points.filter((point, index) => point.time > from && point.time !== points[index - 1]?.time)
}
