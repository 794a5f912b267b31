/** All replicas added up, as it happens. */
'use client'

import { useState } from 'react'
import { type StreamState, useEventStream } from '../use-event-stream.ts'
import type { Point } from './replica-monitor.ts'
import type { OverviewSnapshot } from './snapshot.ts'

const SHOWN_MS = 15 * 60 * 1000 // 15 min

export type Live = { glance: OverviewSnapshot; points: Point[]; state: StreamState }

export function useLive(first: OverviewSnapshot, past: Point[] = []): Live {
  const [glance, setGlance] = useState(first)
  const [points, setPoints] = useState(past)
  const state = useEventStream<{ glance: OverviewSnapshot; history?: Point[] }>('/console/live', (told) => {
    setGlance(told.glance)
    setPoints((known) => recent(told.history ?? [...known, told.glance.point]))
  })
  return { glance, points, state }
}

function recent(points: Point[]): Point[] {
  const from = (points.at(-1)?.time ?? 0) - SHOWN_MS
  return points.filter((point, index) => point.time > from && point.time !== points[index - 1]?.time)
}
