/** Chart of the envelopes of a group over time. */
'use client'

import { useState } from 'react'
import { formatCount } from '../../../lib/format.ts'
import { Chart } from '../figures/chart.tsx'
import type { Range } from '../figures/range.ts'

type Props = {
  range: Range
  /** Start of the first span. The last one ends `now`. */
  from: number
  now: number
  counts: (number | null)[]
}

export function Occurrences({ range, from, now, counts }: Props) {
  const [pointed, setPointed] = useState<number>()
  const { stepMs, step, words } = range
  const spans = counts.map((_, index) => {
    const time = from + index * stepMs
    return { time, end: Math.min(time + stepMs, now) }
  })
  const total = formatCount(counts.reduce<number>((sum, count) => sum + (count ?? 0), 0))
  return (
    <Chart
      title="Occurrences"
      kind="counts"
      unit={`per ${step}`}
      lines={[{ label: 'envelopes', tone: 'bad', values: counts, total }]}
      format={formatCount}
      emptyText={`None in the last ${words}.`}
      onPoint={setPointed}
      {...{ range, spans, pointed }}
    />
  )
}
