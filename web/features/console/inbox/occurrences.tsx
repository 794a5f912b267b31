/** Chart of the envelopes of a group over time. */
'use client'

import { lazy, Suspense } from 'react'
import { formatCount } from '../../../lib/format.ts'
import type { Range } from '../figures/range.ts'

/** Loaded after the stack trace, which is above it. */
const Chart = lazy(async () => ({ default: (await import('../figures/chart.tsx')).Chart }))

type Props = {
  range: Range
  /** Start of the first span. The last one ends `now`. */
  from: number
  now: number
  counts: (number | null)[]
}

export function Occurrences({ range, from, now, counts }: Props) {
  const { stepMs, step, words } = range
  const spans = counts.map((_, index) => {
    const time = from + index * stepMs
    return { time, end: Math.min(time + stepMs, now) }
  })
  const total = formatCount(counts.reduce<number>((sum, count) => sum + (count ?? 0), 0))
  return (
    <Suspense>
      <Chart
        title="Occurrences"
        kind="counts"
        unit={`per ${step}`}
        lines={[{ label: 'envelopes', tone: 'bad', values: counts, total }]}
        format={formatCount}
        formatTick={formatCount}
        emptyText={`None in the last ${words}.`}
        {...{ range, spans }}
      />
    </Suspense>
  )
}
