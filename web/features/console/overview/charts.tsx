/** Charts of a time range: outcomes, categories, response times and pending envelopes. */
'use client'

import type { Outcome } from 'contract/admin-api'
import { formatCount, formatDuration, formatNumber } from '../../../lib/format.ts'
import { outcomeLabel } from '../../../ui/states.ts'
import type { Point } from '../monitor/replica-monitor.ts'
import { categoryLabel, OUTCOMES } from '../outcomes.ts'
import { Chart } from './chart.tsx'
import { bucketsOf, growthOf, spansOf } from './history.ts'
import type { Line } from './plot.ts'
import { LIVE_RANGE, type Range } from './range/range.ts'

type Props = { points: Point[]; range: Range }

type Style = Pick<Line, 'tone' | 'dash'>

const OUTCOME_STYLES: Record<Outcome, Style> = {
  delivered: { tone: 'good' },
  spooled: { tone: 'wait', dash: [8, 4] },
  deferred: { tone: 'wait', dash: [2, 3] },
  rate_limited: { tone: 'hold', dash: [4, 4] },
  filtered: { tone: 'drop', dash: [2, 3] },
  rejected: { tone: 'bad' },
  declined: { tone: 'bad', dash: [8, 4] },
  aborted: { tone: 'bad', dash: [2, 3] },
}

/** Counts of the outcomes that occurred; always includes `delivered`. */
export function OutcomeChart({ points, range }: Props) {
  const kinds = OUTCOMES.map((outcome) => ({
    ...{ outcome, label: outcomeLabel(outcome), ...OUTCOME_STYLES[outcome] },
    totalOf: ({ outcomes }: Point) => outcomes[outcome] ?? 0,
  })).filter(({ outcome, totalOf }) => outcome === 'delivered' || growthOf(points, totalOf) > 0)
  return <CountChart title="Envelopes by outcome" {...{ points, range, kinds }} />
}

/** Styles of lines that are no outcomes: colours stand for outcomes. */
const NEUTRAL_STYLES: Style[] = [
  { tone: 'ink' },
  { tone: 'quiet' },
  { tone: 'ink', dash: [8, 4] },
  { tone: 'quiet', dash: [8, 4] },
  { tone: 'ink', dash: [2, 3] },
]

/** Counts of the busiest data categories, and of all others together. */
export function CategoryChart({ points, range }: Props) {
  const all = Object.keys({ ...points[0]?.categories, ...points.at(-1)?.categories })
    .map((name) => ({ name, count: growthOf(points, ({ categories }) => categories[name] ?? 0) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
    .map(({ name }) => name)
  const others = all.length > NEUTRAL_STYLES.length ? all.splice(NEUTRAL_STYLES.length - 1) : []
  const groups = [
    ...all.map((name) => ({ label: categoryLabel(name), names: [name] })),
    ...(others.length > 0 ? [{ label: 'others', names: others }] : []),
  ]
  const kinds = groups.map(({ label, names }, index) => ({
    label,
    ...(NEUTRAL_STYLES[index] ?? { tone: 'quiet' as const }),
    totalOf: ({ categories }: Point) => names.reduce((sum, name) => sum + (categories[name] ?? 0), 0),
  }))
  return <CountChart title="Envelopes by category" {...{ points, range, kinds }} />
}

type CountChartProps = Props & {
  title: string
  kinds: (Omit<Line, 'values'> & { totalOf: (point: Point) => number })[]
}

/** Count of each kind of envelope in equal spans of time, and by minute. */
function CountChart({ title, points, range, kinds }: CountChartProps) {
  const isLive = range === LIVE_RANGE && !points.some(({ isGap }) => isGap) // a gap follows stored points
  const { widthMs, times, countsOf } = bucketsOf(points, isLive ? undefined : range.stepMs)
  const lines = kinds.map(({ totalOf, ...line }) => ({
    ...line,
    values: countsOf(totalOf),
    total: formatCount(growthOf(points, totalOf)),
  }))
  const minutes = spansOf(points, range.stepMs).map(({ time, points: group }) => ({
    time,
    cells: kinds.map(({ totalOf }) => formatCount(growthOf(group, totalOf))),
  }))
  return (
    <Chart
      title={title}
      kind="counts"
      range={range}
      spanMs={widthMs}
      unit={`per ${isLive ? formatDuration(widthMs) : range.step}`}
      times={times}
      lines={lines}
      format={formatCount}
      formatTick={formatCount}
      emptyText={`No envelopes in the last ${range.words}.`}
      minutes={minutes}
    />
  )
}

const TIMES: (Omit<Line, 'values'> & { secondsOf: (point: Point) => number | undefined })[] = [
  { label: 'p50', tone: 'ink', secondsOf: ({ p50 }) => p50 },
  { label: 'p95', tone: 'quiet', dash: [8, 4], secondsOf: ({ p95 }) => p95 },
  { label: 'p99', tone: 'quiet', dash: [2, 3], secondsOf: ({ p99 }) => p99 },
]

export function DurationChart({ points, range }: Props) {
  const isLong = points.some(({ p99 = 0 }) => p99 >= 1)
  const lines = TIMES.map(({ secondsOf, ...line }) => ({
    ...line,
    values: points.slice(1).map((point) => {
      const seconds = secondsOf(point)
      return seconds === undefined ? null : isLong ? seconds : seconds * 1000
    }),
  }))
  const minutes = spansOf(points, range.stepMs).map(({ time, points: group }) => ({
    time,
    cells: TIMES.map(({ secondsOf }) => {
      const values = group.slice(1).flatMap((point) => secondsOf(point) ?? [])
      return values.length > 0 ? formatDuration(Math.max(...values) * 1000) : '–'
    }),
  }))
  return (
    <Chart
      title="Response time"
      kind="values"
      range={range}
      spanMs={range.stepMs}
      unit={isLong ? 'in seconds' : 'in milliseconds'}
      times={timesOf(points)}
      lines={lines}
      format={(value) => formatDuration(isLong ? value * 1000 : value)}
      formatTick={formatNumber}
      emptyText={`No responses in the last ${range.words}.`}
      minutes={minutes}
    />
  )
}

export function PendingChart({ points, range }: Props) {
  const values = points.slice(1).map(({ pending, isGap }) => (isGap ? null : pending))
  const minutes = spansOf(points, range.stepMs).map(({ time, points: group }) => ({
    time,
    cells: [formatCount(group.at(-1)?.pending ?? 0)],
  }))
  return (
    <Chart
      title="Pending in the spool"
      kind="counts"
      range={range}
      spanMs={range.stepMs}
      unit="envelopes"
      times={timesOf(points)}
      lines={[{ label: 'pending', tone: 'wait', values }]}
      format={formatCount}
      formatTick={formatCount}
      emptyText={`Nothing pending in the last ${range.words}.`}
      minutes={minutes}
    />
  )
}

function timesOf(points: Point[]): number[] {
  return points.slice(1).map(({ time }) => time)
}
