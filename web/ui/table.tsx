/** Table whose first column names the rows. */

import type { ReactNode } from 'react'

/** `className` applies to all cells of the column. */
type Column = { name: ReactNode; className?: string }

type TableRow = { key: string | number; cells: ReactNode[]; title?: string }

type Props = {
  label: string
  columns: readonly Column[]
  rows: readonly TableRow[]
  /** Last row, with the sums of the columns. */
  total?: ReactNode[]
  /** Hides the names of the columns visually, if the cells need none. */
  hideHead?: boolean
}

export function Table({ label, columns, rows, total, hideHead }: Props) {
  return (
    <table aria-label={label} className="w-full text-note tabular-nums">
      <thead className={hideHead ? 'sr-only' : ''}>
        <tr className="text-left text-quiet">
          {columns.map(({ name, className = '' }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: columns do not move
            <th key={index} scope="col" className={`pr-4 pb-1 font-normal last:pr-0 ${className}`}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.key} className={`border-t border-line ${hideHead ? 'first:border-t-0' : ''}`}>
            <Cells columns={columns} row={row} />
          </tr>
        ))}
      </tbody>
      {total && (
        <tfoot>
          <tr className="border-t-2 border-line font-semibold">
            <Cells columns={columns} row={{ key: 'total', cells: total }} />
          </tr>
        </tfoot>
      )}
    </table>
  )
}

/** Table that scrolls when it is wider than the page. `area` names the scrolling area. */
export function WideTable({ area, ...table }: Props & { area: string }) {
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area has to be reachable by keyboard
      tabIndex={0}
      aria-label={area}
      className="mt-0 overflow-x-auto"
    >
      <Table {...table} />
    </section>
  )
}

function Cells({ columns, row: { cells, title } }: { columns: readonly Column[]; row: TableRow }) {
  return cells.map((cell, index) => {
    const className = `py-1 pr-4 last:pr-0 ${columns[index]?.className ?? ''}`
    return index === 0 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: cells stand in the order of the columns
      <th key={index} scope="row" title={title} className={`text-left [font-weight:inherit] ${className}`}>
        {cell}
      </th>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above
      <td key={index} className={className}>
        {cell}
      </td>
    )
  })
}
