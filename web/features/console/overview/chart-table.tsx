/** Table of a chart's values by minute, or by the span of its range. */

import { type ReactNode, useState } from 'react'
import { formatMinute } from '../../../lib/format.ts'
import { Table } from '../../../ui/table.tsx'
import { feedOf, formatPosition, LIVE_RANGE, type Range } from './range/range.ts'

/** `time` in milliseconds since 1970; a cell for each column. */
export type MinuteRow = { time: number; cells: ReactNode[] }

type Props = { title: string; columns: string[]; rows: MinuteRow[]; range: Range }

/** Renders the table only while it is open: it changes with every refresh. */
export function ChartTable({ title, columns, rows, range }: Props) {
  const { step, stepMs } = range
  const [isOpen, setOpen] = useState(false)
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
            columns={[{ name: 'From' }, ...columns.map((name) => ({ name, className: 'text-right' }))]}
            rows={rows.map(({ time, cells }) => ({
              key: time,
              cells: [
                <a key="from" href={feedOf(time, time + stepMs)} className="inline-flex min-h-6 items-center">
                  {range.key === LIVE_RANGE.key ? formatMinute(time) : formatPosition(time, range)}
                </a>,
                ...cells,
              ],
            }))}
          />
        </div>
      )}
    </details>
  )
}
