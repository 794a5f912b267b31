/** Times in the reader's time zone, some relative to now. */
'use client'

import { useNow } from '../lib/browser-state.ts'
import { formatDateTime, formatDuration, formatTimestamp, formatWhen } from '../lib/format.ts'

type Props = { time: number }

/** Time in the past. */
export function Ago({ time }: Props) {
  return <Time time={time} title={formatDateTime} format={(now) => formatAgo(time, now)} />
}

/** Time in the future. */
export function In({ time }: Props) {
  const format = (now: number) =>
    time - now < 1_000 ? 'now' : `in ${formatDuration(Math.ceil((time - now) / 1000) * 1000)}`
  return <Time time={time} title={formatDateTime} format={format} />
}

/** Time of day, with the day unless it is today: "16:40". */
export function When({ time }: Props) {
  return <Time time={time} title={formatDateTime} format={(now) => formatWhen(time, now)} />
}

/** Date and time, with the time since then. */
export function Moment({ time }: Props) {
  return <Time time={time} format={(now) => `${formatDateTime(time)} (${formatAgo(time, now)})`} />
}

/** Date and time to the millisecond. */
export function Exactly({ time }: Props) {
  return <Time time={time} format={() => formatTimestamp(time)} className="text-quiet" />
}

/** Time zone of all times on the page. Empty on the server. */
export function TimeZone() {
  const now = useNow()
  if (now === undefined) return null
  return <span className="text-quiet">Times in {describeTimeZone(now)}</span>
}

/** Returns the reader's time zone and its difference from UTC: "Europe/Berlin (GMT+1)". */
function describeTimeZone(time: number): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const parts = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'shortOffset' }).formatToParts(time)
  const offset = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  return `${timeZone} (${offset})`
}

type TimeProps = Props & {
  title?: (time: number) => string
  format: (now: number) => string
  className?: string
}

/** Empty on the server, which does not know the reader's time zone. */
function Time({ time, title, format, className = '' }: TimeProps) {
  const now = useNow()
  const isKnown = now !== undefined
  return (
    <time
      dateTime={new Date(time).toISOString()}
      title={isKnown ? title?.(time) : undefined}
      className={`tabular-nums ${className}`}
    >
      {isKnown && format(now)}
    </time>
  )
}

function formatAgo(time: number, now: number): string {
  const passed = now - time
  return passed < 1_000 ? 'just now' : `${formatDuration(Math.floor(passed / 1000) * 1000)} ago`
}
