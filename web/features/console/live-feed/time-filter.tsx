/** Time filter of the live feed, which a chart of the overview sets. */
'use client'

import { formatDateTime } from '../../../lib/format.ts'
import { useNow } from '../../../lib/use-now.ts'
import type { Row } from './feed-rows.ts'
import { type FeedFilter, timeOf } from './filter.ts'

type Props = { filter: FeedFilter; rows: readonly Row[]; onChange: (filter: FeedFilter) => void }

/** Shows the span of time, and whether the feed begins after its start. Renders nothing without a time filter. */
export function TimeFilter({ filter, rows, onChange }: Props) {
  const isInBrowser = useNow() !== undefined // the server does not know the reader's time zone
  const { from, to, ...others } = filter
  const [start, end] = [timeOf(from), timeOf(to)]
  if (!isInBrowser || (start === undefined && end === undefined)) return null
  const oldest = oldestOf(rows)
  return (
    <p className="flex flex-wrap items-baseline gap-x-3 text-note">
      <span>
        Received
        {start !== undefined && <> from {formatDateTime(start)}</>}
        {end !== undefined && <> to {formatDateTime(end)}</>}.
      </span>
      <button type="button" className="link min-h-8 cursor-pointer" onClick={() => onChange(others)}>
        Show all times
      </button>
      {start !== undefined && oldest !== undefined && start < oldest && (
        <span className="basis-full text-quiet">
          The feed holds recent envelopes only, the first of {formatDateTime(oldest)}. Earlier ones are not
          listed.
        </span>
      )}
    </p>
  )
}

function oldestOf(rows: readonly Row[]): number | undefined {
  const row = rows.findLast((each) => 'receipt' in each)
  return row && 'receipt' in row ? row.receipt.time : undefined
}
