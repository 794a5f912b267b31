/** Table of a chart's values by minute. */

import { type ReactNode, useState } from 'react'
import { formatMinute } from '../../../lib/format.ts'
import { Table } from '../../../ui/table.tsx'

/** `time` in milliseconds since 1970; a cell for each column. */
export type MinuteRow = { time: number; cells: ReactNode[] }

type Props = { title: string; columns: string[]; rows: MinuteRow[] }

/** Renders the table only while it is open: it changes with every refresh. */
export function ChartTable({ title, columns, rows }: Props) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="text-note" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="inline-block min-h-6 text-quiet hover:text-accent">Values by minute</summary>
      {isOpen && (
        <div
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area has to be reachable by keyboard
          tabIndex={0}
          className="max-h-64 overflow-auto"
        >
          <Table
            label={`${title}, by minute`}
            columns={[{ name: 'From' }, ...columns.map((name) => ({ name, className: 'text-right' }))]}
            rows={rows.map(({ time, cells }) => ({ key: time, cells: [formatMinute(time), ...cells] }))}
          />
        </div>
      )}
    </details>
  )
}
