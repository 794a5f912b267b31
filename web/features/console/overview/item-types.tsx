/** Table of item types, most frequent first, with their rates. */

import { formatCount, formatNumber, rateUnit } from '../../../lib/format.ts'
import { Empty, Panel } from '../../../ui/panel.tsx'
import { Table } from '../../../ui/table.tsx'
import { rateNow, ratesOf } from '../monitor/rates.ts'
import type { Point } from '../monitor/replica-monitor.ts'
import { SETUP } from '../routes.ts'
import { growthOf, shownFrom } from './history.ts'
import type { Range } from './range/range.ts'

const COLUMNS = [
  { name: 'Type' },
  { name: <span className="sr-only">over time</span>, className: 'w-1/2' },
  { name: 'Now', className: 'text-right whitespace-nowrap text-quiet' },
  { name: 'Total', className: 'text-right' },
]

type Props = {
  points: Point[]
  /** Points of the last minutes. */
  live: Point[]
  range: Range
}

export function ItemTypes({ points, live, range }: Props) {
  const types = Object.keys({ ...points[0]?.items, ...points.at(-1)?.items })
    .map((type) => {
      const totalOf = ({ items }: Point) => items[type] ?? 0
      return {
        ...{ type, count: growthOf(points, totalOf) },
        ...{ rate: rateNow(live, totalOf), rates: ratesOf(points, totalOf) },
      }
    })
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
  const { per, seconds } = rateUnit(Math.max(0, ...types.map(({ rate }) => rate)))
  const shown = points.slice(1)
  const rows = types.map(({ type, count, rate, rates }) => ({
    key: type,
    cells: [
      <a
        key="type"
        href={`/console/live-feed?type=${type}`}
        className="inline-flex min-h-6 items-center text-ink no-underline hover:underline"
      >
        {type}
      </a>,
      <Sparkline key="rates" points={shown} values={rates} range={range} />,
      formatNumber(rate * seconds) + per,
      formatCount(count),
    ],
  }))
  return (
    <Panel title="Items by type" note={`last ${range.words}`}>
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
    </Panel>
  )
}

const [WIDTH, HEIGHT] = [100, 20]

type SparklineProps = { points: Point[]; values: number[]; range: Range }

/** Line over the range without axes. */
function Sparkline({ points, values, range }: SparklineProps) {
  const last = points.at(-1)?.time ?? 0
  const from = shownFrom(points[0]?.time ?? 0, last, range)
  const max = Math.max(...values, Number.MIN_VALUE)
  const path = points.map(({ time, isGap }, index) => {
    if (isGap) return ''
    const x = (WIDTH * (time - from)) / (last - from)
    const y = HEIGHT - 1 - ((HEIGHT - 2) * (values[index] ?? 0)) / max
    const isFirst = index === 0 || points[index - 1]?.isGap
    const position = `${x.toFixed(1)} ${y.toFixed(1)}`
    return isFirst ? `M${position}h.1` : `L${position}`
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
