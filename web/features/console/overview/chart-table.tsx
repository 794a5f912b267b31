/** Table of a chart's values by span. */

import { useState } from 'react'
import { Table } from '../../../ui/table.tsx'
import type { Span } from '../figures/figure-sums.ts'
import { feedOf, formatPosition, type Range } from '../figures/range.ts'
import type { Line } from './plot.ts'

type Props = {
  title: string
  spans: Span[]
  /** A value for each span. */
  lines: Line[]
  range: Range
  format: (value: number) => string
}

/** Renders the table only while it is open: it changes with every refresh. Newest first, without spans in which no replica ran. */
export function ChartTable({ title, spans, lines, range, format }: Props) {
  const { step, stepMs } = range
  const [isOpen, setOpen] = useState(false)
  const rows = () =>
    spans.flatMap(({ time, point }, index) => {
      if (!point) return []
      const from = (
        <a key="from" href={feedOf(time, time + stepMs)} className="inline-flex min-h-6 items-center">
          {formatPosition(time, range)}
        </a>
      )
      const cells = lines.map(({ values: { [index]: value } }) =>
        value === null || value === undefined ? '–' : format(value),
      )
      return [{ key: time, cells: [from, ...cells] }]
    })
  return (
    <details className="text-note" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="inline-block min-h-6 text-quiet hover:text-accent">Values by {step}</summary>
      {isOpen && (
        <div
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area has to be reachable by keyboard
          tabIndex={0}
          className="max-h-64 overflow-auto"
        >
          <Table
            label={`${title}, by ${step}`}
            columns={[
              { name: 'From' },
              ...lines.map(({ label }) => ({ name: label, className: 'text-right' })),
            ]}
            rows={rows().reverse()}
          />
        </div>
      )}
    </details>
  )
}
