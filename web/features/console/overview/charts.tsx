/** Charts of the last 15 minutes: outcomes, categories, response times, pending envelopes and item types. */
'use client'

import { formatCount, formatDuration, formatNumber, rateUnit } from '../../../lib/format.ts'
import { outcomeLabel } from '../../../ui/outcome-labels.ts'
import { Empty, Panel } from '../../../ui/panel.tsx'
import { rateNow, ratesOf } from '../monitor/rates.ts'
import type { Point } from '../monitor/replica-monitor.ts'
import { OUTCOMES } from '../outcomes.ts'
import { Chart, type Line } from './chart.tsx'
import { growthOf, minutesOf } from './history.ts'
import { Sparkline } from './sparkline.tsx'

type Props = { points: Point[] }

const LOOKS: Record<string, Pick<Line, 'tone' | 'dash'>> = {
  delivered: { tone: 'good' },
  spooled: { tone: 'wait', dash: [8, 4] },
  limited: { tone: 'hold', dash: [4, 4] },
  filtered: { tone: 'drop', dash: [2, 3] },
  refused: { tone: 'bad' },
  declined: { tone: 'bad', dash: [8, 4] },
  aborted: { tone: 'bad', dash: [2, 3] },
}

/** Rates of the outcomes of this time; always includes `delivered`. */
export function OutcomeChart({ points }: Props) {
  const kinds = OUTCOMES.map((outcome) => ({
    label: outcomeLabel(outcome),
    ...(LOOKS[outcome] ?? { tone: 'quiet' as const }),
    totalOf: ({ answers }: Point) => answers[outcome] ?? 0,
  })).filter(({ label, totalOf }) => label === 'delivered' || growthOf(points, totalOf) > 0)
  return <RateChart title="Envelopes by outcome" points={points} kinds={kinds} />
}

/** Strokes that tell lines apart, since colours stand for outcomes. */
const STROKES: Pick<Line, 'tone' | 'dash'>[] = [
  { tone: 'ink' },
  { tone: 'quiet' },
  { tone: 'ink', dash: [8, 4] },
  { tone: 'quiet', dash: [8, 4] },
  { tone: 'ink', dash: [2, 3] },
]

/** Rates of the busiest data categories of this time, and of all others together. */
export function CategoryChart({ points }: Props) {
  const all = Object.keys(points.at(-1)?.categories ?? {})
    .map((name) => ({ name, many: growthOf(points, ({ categories }) => categories[name] ?? 0) }))
    .filter(({ many }) => many > 0)
    .sort((a, b) => b.many - a.many)
    .map(({ name }) => name)
  const others = all.length > STROKES.length ? all.splice(STROKES.length - 1) : []
  const groups = [
    ...all.map((name) => ({ label: name === 'none' ? 'no category' : name, names: [name] })),
    ...(others.length > 0 ? [{ label: 'others', names: others }] : []),
  ]
  const kinds = groups.map(({ label, names }, index) => ({
    label,
    ...(STROKES[index] ?? { tone: 'quiet' as const }),
    totalOf: ({ categories }: Point) => names.reduce((sum, name) => sum + (categories[name] ?? 0), 0),
  }))
  return <RateChart title="Envelopes by category" points={points} kinds={kinds} />
}

type RateChartProps = Props & {
  title: string
  kinds: (Omit<Line, 'values'> & { totalOf: (point: Point) => number })[]
}

/** Rate of each kind of envelope in one unit, with the count of each minute. */
function RateChart({ title, points, kinds }: RateChartProps) {
  const rates = kinds.map(({ totalOf }) => ratesOf(points, totalOf))
  const { unit, per, seconds } = rateUnit(Math.max(0, ...rates.flat()))
  const lines = kinds.map(({ totalOf: _, ...line }, index) => ({
    ...line,
    values: rates[index]?.map((rate) => rate * seconds) ?? [],
  }))
  const minutes = minutesOf(points).map(({ time, points: its }) => ({
    time,
    cells: kinds.map(({ totalOf }) => formatCount(growthOf(its, totalOf))),
  }))
  return (
    <Chart
      title={title}
      unit={`per ${unit}`}
      times={timesOf(points)}
      lines={lines}
      format={(value) => `${formatNumber(value)}${per}`}
      formatTick={formatNumber}
      nothing="No envelopes in the last 15 minutes."
      minutes={minutes}
    />
  )
}

const TIMES: (Omit<Line, 'values'> & { secondsOf: (point: Point) => number | undefined })[] = [
  { label: 'p50', tone: 'ink', secondsOf: ({ p50 }) => p50 },
  { label: 'p95', tone: 'quiet', dash: [8, 4], secondsOf: ({ p95 }) => p95 },
]

export function DurationChart({ points }: Props) {
  const isLong = points.some(({ p95 = 0 }) => p95 >= 1)
  const lines = TIMES.map(({ secondsOf, ...line }) => ({
    ...line,
    values: points.slice(1).map((point) => {
      const seconds = secondsOf(point)
      return seconds === undefined ? null : isLong ? seconds : seconds * 1000
    }),
  }))
  const minutes = minutesOf(points).map(({ time, points: its }) => ({
    time,
    cells: TIMES.map(({ secondsOf }) => {
      const values = its.slice(1).flatMap((point) => secondsOf(point) ?? [])
      return values.length > 0 ? formatDuration(Math.max(...values) * 1000) : '–'
    }),
  }))
  return (
    <Chart
      title="Response time"
      unit={isLong ? 'in seconds' : 'in milliseconds'}
      times={timesOf(points)}
      lines={lines}
      format={(value) => formatDuration(isLong ? value * 1000 : value)}
      formatTick={formatNumber}
      nothing="No responses in the last 15 minutes."
      minutes={minutes}
    />
  )
}

export function PendingChart({ points }: Props) {
  const values = points.slice(1).map(({ waiting }) => waiting)
  const minutes = minutesOf(points).map(({ time, points: its }) => ({
    time,
    cells: [formatCount(its.at(-1)?.waiting ?? 0)],
  }))
  return (
    <Chart
      title="Pending in the spool"
      unit="envelopes"
      times={timesOf(points)}
      lines={[{ label: 'pending', tone: 'wait', values }]}
      format={formatCount}
      formatTick={(value) => (Number.isInteger(value) ? formatCount(value) : '')}
      nothing="Nothing pending in the last 15 minutes."
      minutes={minutes}
    />
  )
}

/** Table of item types, most frequent first. */
export function ItemTypes({ points }: Props) {
  const types = Object.keys(points.at(-1)?.items ?? {})
    .map((type) => ({ type, many: growthOf(points, ({ items }) => items[type] ?? 0) }))
    .filter(({ many }) => many > 0)
    .sort((a, b) => b.many - a.many)
  const rates = new Map(types.map(({ type }) => [type, rateNow(points, ({ items }) => items[type] ?? 0)]))
  const { per, seconds } = rateUnit(Math.max(0, ...rates.values()))
  return (
    <Panel title="Items by type" note="last 15 minutes">
      {types.length === 0 && <Empty>No items in the last 15 minutes.</Empty>}
      {types.length > 0 && (
        <table aria-label="Items by type" className="w-full text-note tabular-nums">
          <thead>
            <tr className="text-right text-quiet">
              <th className="text-left font-normal">type</th>
              <th className="sr-only">over time</th>
              <th className="font-normal">now</th>
              <th className="pl-4 font-normal">total</th>
            </tr>
          </thead>
          <tbody>
            {types.map(({ type, many }) => (
              <tr key={type} className="border-t border-line text-right">
                <th scope="row" className="py-1.5 text-left font-normal">
                  <a
                    href={`/console/live-feed?type=${type}`}
                    className="text-ink no-underline hover:underline"
                  >
                    {type}
                  </a>
                </th>
                <td className="w-1/2 px-3">
                  <Sparkline
                    times={timesOf(points)}
                    values={ratesOf(points, ({ items }) => items[type] ?? 0)}
                  />
                </td>
                <td className="whitespace-nowrap text-quiet">
                  {formatNumber((rates.get(type) ?? 0) * seconds)}
                  {per}
                </td>
                <td className="pl-4">{formatCount(many)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  )
}

function timesOf(points: Point[]): number[] {
  return points.slice(1).map(({ time }) => time)
}
