/** Times relative to now, with the time of day in the reader's time zone. */
'use client'

import { formatDateTime, formatDuration, formatTimestamp } from '../lib/format.ts'
import { useNow } from '../lib/use-now.ts'

export function Ago({ time }: { time: number }) {
  const now = useNow()
  if (now === undefined) return <time dateTime={new Date(time).toISOString()} />
  const passed = now - time
  return (
    <time dateTime={new Date(time).toISOString()} title={formatDateTime(time)} className="tabular-nums">
      {passed < 1_000 ? 'just now' : `${formatDuration(Math.floor(passed / 1000) * 1000)} ago`}
    </time>
  )
}

/** Time in the future. */
export function In({ time }: { time: number }) {
  const now = useNow()
  if (now === undefined) return <time dateTime={new Date(time).toISOString()} />
  const rest = time - now
  return (
    <time dateTime={new Date(time).toISOString()} title={formatDateTime(time)} className="tabular-nums">
      {rest < 1_000 ? 'now' : `in ${formatDuration(Math.ceil(rest / 1000) * 1000)}`}
    </time>
  )
}

/** Date and time, with the time since then. */
export function Moment({ time }: { time: number }) {
  const now = useNow()
  if (now === undefined) return <time dateTime={new Date(time).toISOString()} />
  return (
    <time dateTime={new Date(time).toISOString()} className="tabular-nums">
      {formatDateTime(time)} ({formatDuration(Math.max(0, Math.floor((now - time) / 1000) * 1000))} ago)
    </time>
  )
}

/** Date and time to the millisecond. */
export function Exactly({ time }: { time: number }) {
  const isThere = useNow() !== undefined
  return (
    <time dateTime={new Date(time).toISOString()} className="text-quiet tabular-nums">
      {isThere && formatTimestamp(time)}
    </time>
  )
}
