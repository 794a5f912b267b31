/** Timeline of a request, with the duration of each part. */

import type { Receipt } from 'contract/admin-api'
import { formatDuration, formatTimestamp } from '../../../lib/format.ts'

export function RequestTimeline({ receipt }: { receipt: Receipt }) {
  const { time, duration_ms: durationMs } = receipt
  const parts = partsOf(receipt)
  let end = 0
  const bars = parts.map(({ ms, fill }) => {
    const x = end
    end += durationMs > 0 ? (100 * ms) / durationMs : 0
    return <rect key={fill} x={x} width={end - x} height="6" className={fill} />
  })
  return (
    <div className="mt-4">
      {parts.length > 0 && (
        <svg
          viewBox="0 0 100 6"
          preserveAspectRatio="none"
          aria-hidden="true"
          className="h-3 w-full border border-quiet"
        >
          {bars}
        </svg>
      )}
      <ol className="mt-2 grid gap-0.5 text-note tabular-nums" aria-label="Timings">
        <li>{formatTimestamp(time)} received</li>
        {parts.map(({ ms, text, fill }) => (
          <li key={fill} className="flex items-center gap-2 text-quiet">
            <svg viewBox="0 0 8 8" aria-hidden="true" className="size-2.5 shrink-0 border border-quiet">
              <rect width="8" height="8" className={fill} />
            </svg>
            + {formatDuration(ms)} {text}
          </li>
        ))}
        <li>
          {formatTimestamp(time + durationMs)} response sent, {formatDuration(durationMs)} in total
        </li>
      </ol>
    </div>
  )
}

type Part = { ms: number; text: string; fill: string }

/** Returns the parts of the duration; none for an envelope that was not forwarded. */
function partsOf(receipt: Receipt): Part[] {
  const { outcome, duration_ms: total, admitted_after_ms: admitted, upstream_duration_ms: upstream } = receipt
  if (admitted === undefined || upstream === undefined) return []
  const hasResponse = receipt.upstream_status !== undefined
  return [
    { ms: admitted, text: 'until accepted and forwarded', fill: 'fill-ink' },
    {
      ms: upstream,
      text: hasResponse ? 'until Sentry responded' : 'without a response from Sentry',
      fill: 'fill-sunken',
    },
    {
      ms: Math.max(0, total - admitted - upstream),
      text: outcome === 'spooled' ? 'until stored in the spool' : 'until the response was sent',
      fill: 'fill-quiet',
    },
  ]
}
