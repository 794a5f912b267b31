/** Time ranges of the figures. */

import { formatMinute } from '../../../lib/format.ts'
import type { Query } from '../routes.ts'

export type RangeKey = '15m' | '1h' | '24h' | '7d'

export type Range = {
  key: RangeKey
  label: string
  /** Words that follow "last" in a sentence. */
  words: string
  ms: number
  /** Length of the span of a point. */
  stepMs: number
  /** Name of this span. */
  step: string
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Default, which rates and recent losses come from too. */
export const RECENT: Range = {
  ...{ key: '15m', label: '15 min', words: '15 minutes', ms: 15 * MINUTE_MS },
  ...{ stepMs: MINUTE_MS, step: 'minute' },
}

export const DAY: Range = {
  ...{ key: '24h', label: '24 h', words: '24 hours', ms: DAY_MS, stepMs: 10 * MINUTE_MS, step: '10 minutes' },
}

export const WEEK: Range = {
  ...{ key: '7d', label: '7 d', words: '7 days', ms: 7 * DAY_MS, stepMs: HOUR_MS, step: 'hour' },
}

export const RANGES: readonly Range[] = [
  RECENT,
  { key: '1h', label: '1 h', words: 'hour', ms: HOUR_MS, stepMs: MINUTE_MS, step: 'minute' },
  DAY,
  WEEK,
]

export function readRange(given: Query[string]): Range {
  return RANGES.find(({ key }) => key === given) ?? RECENT
}

/** Formats the start of a span in the reader's time zone. */
export function formatPosition(time: number, { stepMs }: Range): string {
  return stepMs === MINUTE_MS ? formatMinute(time) : `${formatDay(time)}, ${formatMinute(time)}`
}

/** Formats a tick of the time axis. Midnight is a day. */
export function formatTimeTick(time: number): string {
  const date = new Date(time)
  return date.getHours() + date.getMinutes() === 0 ? formatDay(time) : formatMinute(time)
}

function formatDay(time: number): string {
  return new Date(time).toLocaleDateString('en-GB', { weekday: 'short', day: 'numeric', month: 'short' })
}

/** Returns the address of the live feed with the envelopes of a span of time. */
export function feedOf(from: number, to: number): string {
  const iso = (time: number) => new Date(Math.round(time)).toISOString().replace('.000Z', 'Z')
  return `/console/live-feed?${new URLSearchParams({ from: iso(from), to: iso(to) })}`
}
