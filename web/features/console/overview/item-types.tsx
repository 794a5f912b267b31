/** Table of item types, most frequent first, with their rates. */

import { formatCount, formatNumber, rateUnit } from '../../../lib/format.ts'
import { Empty, Fold } from '../../../ui/panel.tsx'
import { Table } from '../../../ui/table.tsx'
import {
  type RangeFigures,
  type RecentCounts,
  type Span,
  spansOf,
  sumByName,
} from '../figures/figure-sums.ts'
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
      const values = spans.map(({ time }) => items.get(time)?.[type] ?? 0)
      const count = values.reduce((sum, value) => sum + value, 0)
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
      <Sparkline key="counts" spans={spans} values={values} />,
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

const [WIDTH, HEIGHT] = [100, 20]

/** Line over the range without axes. */
function Sparkline({ spans, values }: { spans: Span[]; values: number[] }) {
  const max = Math.max(...values, Number.MIN_VALUE)
  const path = spans.map(({ point }, index) => {
    if (!point) return ''
    const x = (WIDTH * index) / Math.max(1, spans.length - 1)
    const y = HEIGHT - 1 - ((HEIGHT - 2) * (values[index] ?? 0)) / max
    const position = `${x.toFixed(1)} ${y.toFixed(1)}`
    return spans[index - 1]?.point ? `L${position}` : `M${position}h.1`
  })
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      className="block h-5 w-full text-quiet"
    >
      <path
        d={`${path.join('')}h.1`}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  )
}
