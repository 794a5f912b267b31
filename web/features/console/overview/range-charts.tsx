/** Charts of the chosen time range on one time axis: outcomes, response times and pending envelopes. */
'use client'

import { useRouter } from 'next/navigation'
import { type MouseEvent, useState } from 'react'
import { formatCount, formatDuration } from '../../../lib/format.ts'
import { Panel } from '../../../ui/panel.tsx'
import { TimeZone } from '../../../ui/relative-time.tsx'
import { outcomeLabel } from '../../../ui/states.ts'
import { Chart } from '../figures/chart.tsx'
import {
  type CountedOutcome,
  percentilesOf,
  type RangeFigures,
  type RangePoint,
  type Span,
  spansOf,
  sumOutcomes,
} from '../figures/figure-sums.ts'
import type { Line } from '../figures/plot.ts'
import { feedOf, RANGES, type Range, RECENT } from '../figures/range.ts'
import { OUTCOMES } from '../outcomes.ts'
import { CONSOLE } from '../routes.ts'

type RangeProps = {
  range: Range
  /** Absent when no replica has returned them; `missing` says why. */
  figures: RangeFigures | undefined
  /** Description of the gaps in the figures. */
  missing: string | undefined
  /** Shows the chart of pending envelopes. */
  hasPending: boolean
}

export function RangeCharts({ range, figures, missing, hasPending }: RangeProps) {
  const [pointed, onPoint] = useState<number>()
  const shared = { range, pointed, onPoint }
  return (
    <Panel
      title={`Last ${range.words}`}
      note={
        <span className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <TimeZone />
          <RangePicker range={range} />
        </span>
      }
    >
      {missing !== undefined && (
        <p role="status" className="mb-4 max-w-prose text-note wrap-anywhere">
          {missing}
        </p>
      )}
      {figures && (
        <div className="grid grid-cols-1 gap-y-4">
          <OutcomeChart figures={figures} {...shared} />
          <DurationChart figures={figures} {...shared} />
          {hasPending && <PendingChart figures={figures} {...shared} />}
        </div>
      )}
    </Panel>
  )
}

/** The charts share the position of the pointer. */
type Props = {
  figures: RangeFigures
  range: Range
  pointed: number | undefined
  onPoint: (index: number | undefined) => void
}

type Style = Pick<Line, 'tone' | 'dash'>

const OUTCOME_STYLES: Record<CountedOutcome, Style> = {
  delivered: { tone: 'good' },
  spooled: { tone: 'wait', dash: [8, 4] },
  deferred: { tone: 'wait', dash: [2, 3] },
  rate_limited: { tone: 'hold', dash: [4, 4] },
  filtered: { tone: 'drop', dash: [2, 3] },
  lost: { tone: 'bad' },
  rejected: { tone: 'bad', dash: [12, 3] },
  declined: { tone: 'bad', dash: [8, 4] },
  aborted: { tone: 'bad', dash: [2, 3] },
}

/** Counts of the outcomes that occurred; always includes `delivered`. */
function OutcomeChart({ figures, range, ...pointer }: Props) {
  const kinds = [...OUTCOMES, 'lost' as const]
    .map((outcome) => ({
      ...{ label: outcomeLabel(outcome), ...OUTCOME_STYLES[outcome] },
      countIn: (point: RangePoint) => sumOutcomes(point)[outcome],
    }))
    .filter(({ countIn }, index) => index === 0 || figures.points.some((point) => countIn(point) > 0))
  const spans = spansOf(figures)
  const lines = kinds.map(({ countIn, ...line }) => ({
    ...line,
    values: valuesOf(spans, countIn),
    total: formatCount(figures.points.reduce((sum, point) => sum + countIn(point), 0)),
  }))
  return (
    <Chart
      linkTo={feedOf}
      title="Envelopes by outcome"
      kind="counts"
      unit={`per ${range.step}`}
      format={formatCount}
      emptyText={`No envelopes in the last ${range.words}.`}
      {...{ range, spans, lines, ...pointer }}
    />
  )
}

const PERCENTILES: (Omit<Line, 'values'> & { label: 'p50' | 'p95' | 'p99' })[] = [
  { label: 'p50', tone: 'ink' },
  { label: 'p95', tone: 'quiet', dash: [8, 4] },
  { label: 'p99', tone: 'quiet', dash: [2, 3] },
]

function DurationChart({ figures, range, ...pointer }: Props) {
  const spans = spansOf(figures)
  const durations = spans.map(({ point }) => percentilesOf(point?.durations ?? {}))
  const lines = PERCENTILES.map((line) => ({
    ...line,
    values: durations.map(({ [line.label]: seconds }) => (seconds === undefined ? null : seconds * 1000)),
  }))
  return (
    <Chart
      linkTo={feedOf}
      title="Response time"
      kind="durations"
      unit="on a logarithmic axis"
      format={formatDuration}
      emptyText={`No responses in the last ${range.words}.`}
      {...{ range, spans, lines, ...pointer }}
    />
  )
}

function PendingChart({ figures, range, ...pointer }: Props) {
  const spans = spansOf(figures)
  const values = valuesOf(spans, ({ pending }) => pending)
  return (
    <Chart
      linkTo={feedOf}
      title="Pending in the spool"
      kind="counts"
      unit="envelopes"
      format={formatCount}
      emptyText={`Nothing pending in the last ${range.words}.`}
      {...{ range, spans, ...pointer }}
      lines={[{ label: 'pending', tone: 'wait', values }]}
    />
  )
}

/** Returns the value of each span; `null` where no replica ran. */
function valuesOf(spans: readonly Span[], read: (point: RangePoint) => number): (number | null)[] {
  return spans.map(({ point }) => (point ? read(point) : null))
}

function RangePicker({ range }: { range: Range }) {
  const router = useRouter()

  /** Keeps the scroll position. A click for another tab is left to the browser. */
  function pick(event: MouseEvent<HTMLAnchorElement>): void {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    router.push(event.currentTarget.href, { scroll: false })
  }

  return (
    <nav aria-label="Time range" className="flex flex-wrap gap-1 text-note">
      {RANGES.map((each) => (
        <a
          key={each.key}
          href={each.key === RECENT.key ? CONSOLE : `${CONSOLE}?range=${each.key}`}
          onClick={pick}
          aria-current={each.key === range.key ? 'true' : undefined}
          className="link-tab"
        >
          {each.label}
        </a>
      ))}
    </nav>
  )
}
