/** Table of item types, most frequent first, with their rates. */

import { formatCount, formatNumber, rateUnit } from '../../../lib/format.ts'
import { Empty, Fold } from '../../../ui/panel.tsx'
import { Sparkline } from '../../../ui/sparkline.tsx'
import { Table } from '../../../ui/table.tsx'
import { type RangeFigures, type RecentCounts, spansOf, sumByName } from '../figures/figure-sums.ts'
import type { Range } from '../figures/range.ts'
import { typeLabel } from '../outcomes.ts'
import { SETUP } from '../routes.ts'

const COLUMNS = [
  { name: 'Type' },
  { name: <span className="sr-only">over time</span>, className: 'w-1/2' },
  { name: 'Now', className: 'text-right whitespace-nowrap text-quiet' },
  { name: 'Total', className: 'text-right' },
]

type Props = {
  figures: RangeFigures
  /** Counts of the last one to two minutes; absent while they are missing. */
  now: RecentCounts | undefined
  range: Range
}

export function ItemTypes({ figures, now, range }: Props) {
  const spans = spansOf(figures)
  const items = new Map(figures.points.map((point) => [point.time, sumByName(point.items)]))
  const recent = now && sumByName(now.counts.items)
  const types = [...new Set([...items.values()].flatMap(Object.keys))]
    .map((type) => {
      const values = spans.map(({ time, point }) => point && (items.get(time)?.[type] ?? 0))
      const count = values.reduce<number>((sum, value = 0) => sum + value, 0)
      return { type, count, values, rate: now && (recent?.[type] ?? 0) / now.seconds }
    })
    .sort((a, b) => b.count - a.count)
  const { per, seconds } = rateUnit(Math.max(0, ...types.map(({ rate = 0 }) => rate)))
  const rows = types.map(({ type, count, rate, values }) => ({
    key: type,
    cells: [
      <a
        key="type"
        href={`/console/live-feed?type=${type}`}
        className="inline-flex min-h-6 items-center text-ink no-underline hover:underline"
      >
        {typeLabel(type)}
      </a>,
      <Sparkline key="counts" values={values} />,
      rate === undefined ? '–' : formatNumber(rate * seconds) + per,
      formatCount(count),
    ],
  }))
  return (
    <Fold title="Items by type" note={`last ${range.words}`}>
      {rows.length === 0 ? (
        <Empty>
          No items in the last {range.words}. To see some,{' '}
          <a href={SETUP} className="link">
            send an error from your site
          </a>
          .
        </Empty>
      ) : (
        <Table label="Items by type" columns={COLUMNS} rows={rows} />
      )}
    </Fold>
  )
}
