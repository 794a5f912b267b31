/** Table of a chart's values by minute. */

import { useState } from 'react'
import { formatMinute } from '../../../lib/format.ts'

/** `time` in milliseconds since 1970; a cell for each column. */
export type MinuteRow = { time: number; cells: string[] }

type Props = { title: string; columns: string[]; rows: MinuteRow[] }

/** Renders the table only while it is open: it grows with every refresh. */
export function ChartTable({ title, columns, rows }: Props) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="text-note" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="inline-block min-h-6 text-quiet hover:text-accent">Values by minute</summary>
      {isOpen && (
        <div
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
          tabIndex={0}
          className="max-h-64 overflow-auto"
        >
          <table aria-label={`${title}, by minute`} className="w-full text-right tabular-nums">
            <thead>
              <tr className="text-quiet">
                <th scope="col" className="py-1 text-left font-normal">
                  from
                </th>
                {columns.map((column) => (
                  <th key={column} scope="col" className="pl-3 font-normal">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ time, cells }) => (
                <tr key={time} className="border-t border-line">
                  <th scope="row" className="py-1 text-left font-normal">
                    {formatMinute(time)}
                  </th>
                  {cells.map((cell, index) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: cells stand in the order of the columns
                    <td key={index} className="pl-3">
                      {cell}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  )
}
