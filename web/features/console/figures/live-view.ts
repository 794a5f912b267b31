/** View of the overview, and the events that keep it live. */

import type { OverviewSnapshot } from '../monitor/snapshot.ts'
import type { RangeFigures } from './figure-sums.ts'
import type { RangeKey } from './range.ts'

/** State of all replicas, and figures of a range. */
export type LiveView = {
  overview: OverviewSnapshot
  range: RangeKey
  /** Absent before the first response. */
  figures?: RangeFigures
  /** Description of the gaps in the figures, with their reason. */
  missing?: string
}

/** Event of `/console/live`. It has the points that begin at `since` or later: earlier ones are as before. */
export type LiveEvent = LiveView & { since: number }

/** Returns the view after an event. The last known figures stay while there are none. */
export function continueView({ figures: known }: LiveView, { since, figures, ...rest }: LiveEvent): LiveView {
  if (!figures) return { ...rest, ...(known && { figures: known }) }
  const before = known?.points.filter(({ time }) => time >= figures.from && time < since) ?? []
  return { ...rest, figures: { ...figures, points: [...before, ...figures.points] } }
}

/** Returns the event that turns one view into the next. */
export function eventAfter(before: LiveView | undefined, view: LiveView): LiveEvent {
  const { figures } = view
  if (!figures) return { ...view, since: 0 }
  const [known, now] = [textsOf(before?.figures), textsOf(figures)]
  const times = [...new Set([...known.keys(), ...now.keys()])].sort((a, b) => a - b)
  const isChanged = (time: number) => time >= figures.from && known.get(time) !== now.get(time)
  const since = before?.figures ? (times.find(isChanged) ?? figures.to) : figures.from
  return {
    ...view,
    since,
    figures: { ...figures, points: figures.points.filter(({ time }) => time >= since) },
  }
}

function textsOf(figures: RangeFigures | undefined): Map<number, string> {
  return new Map(figures?.points.map((point) => [point.time, JSON.stringify(point)]))
}
