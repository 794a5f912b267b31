/** Table of item types, most frequent first, with their rates. */

import { formatCount, formatNumber, rateUnit } from '../../../lib/format.ts'
import { Empty, Panel } from '../../../ui/panel.tsx'
import { Table } from '../../../ui/table.tsx'
import { rateNow, ratesOf } from '../monitor/rates.ts'
import type { Point } from '../monitor/replica-monitor.ts'
import { growthOf, shownFrom } from './history.ts'

const COLUMNS = [
  { name: 'Type' },
  { name: <span className="sr-only">over time</span>, className: 'w-1/2' },
  { name: 'Now', className: 'text-right whitespace-nowrap text-quiet' },
  { name: 'Total', className: 'text-right' },
]

export function ItemTypes({ points }: { points: Point[] }) {
  const types = Object.keys(points.at(-1)?.items ?? {})
    .map((type) => {
      const totalOf = ({ items }: Point) => items[type] ?? 0
      return {
        ...{ type, count: growthOf(points, totalOf) },
        ...{ rate: rateNow(points, totalOf), rates: ratesOf(points, totalOf) },
      }
    })
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
  const { per, seconds } = rateUnit(Math.max(0, ...types.map(({ rate }) => rate)))
  const times = points.slice(1).map(({ time }) => time)
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
      <Sparkline key="rates" times={times} values={rates} />,
      formatNumber(rate * seconds) + per,
      formatCount(count),
    ],
  }))
  return (
    <Panel title="Items by type" note="last 15 minutes">
      {rows.length === 0 ? (
        <Empty>No items in the last 15 minutes.</Empty>
      ) : (
        <Table label="Items by type" columns={COLUMNS} rows={rows} />
      )}
    </Panel>
  )
}

const [WIDTH, HEIGHT] = [100, 20]

/** Line over the last 15 minutes without axes. */
function Sparkline({ times, values }: { times: number[]; values: number[] }) {
  const last = times.at(-1) ?? 0
  const from = shownFrom(times[0] ?? 0, last)
  const max = Math.max(...values, Number.MIN_VALUE)
  const path = values
    .map((value, index) => {
      const x = (WIDTH * ((times[index] ?? last) - from)) / (last - from)
      const y = HEIGHT - 1 - ((HEIGHT - 2) * value) / max
      return `${x.toFixed(1)} ${y.toFixed(1)}`
    })
    .join('L')
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      className="block h-5 w-full text-quiet"
    >
      <path
        d={`M${path}h.1`}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  )
}
