/** Line chart over a range of time. The legend shows the values under the pointer, or at the position of the arrow keys. */
'use client'

import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react'
import { useHydrated } from '../../../lib/browser-state.ts'
import { Table } from '../../../ui/table.tsx'
import type { Span } from './figure-sums.ts'
import {
  boundsOf,
  HEIGHT,
  type Line,
  type PlotKind,
  pathOf,
  TONE_CLASSES,
  timeTicks,
  valueAxis,
  WIDTH,
} from './plot.ts'
import { formatPosition, formatTimeTick, type Range } from './range.ts'

type Props = {
  title: string
  kind: PlotKind
  range: Range
  /** Unit of the values, in words. */
  unit: string
  spans: Span[]
  /** A value for each span. */
  lines: Line[]
  /** Formats a value with its unit. */
  format: (value: number) => string
  /** Text shown while there is no data. */
  emptyText: string
  /** Index of the span under the pointer, which charts of one time axis share. */
  pointed: number | undefined
  onPoint: (index: number | undefined) => void
  /** Returns the link of a span: where its envelopes are listed. */
  linkTo?: (from: number, to: number) => string
}

export function Chart(props: Props) {
  const { title, range, unit, spans, lines, format, emptyText, linkTo, pointed } = props
  const index = pointed !== undefined && pointed < spans.length ? pointed : undefined
  const shown = index ?? spans.length - 1
  const isEmpty = lines.every(({ values }) => values.every((value) => !value))
  return (
    <figure className="m-0 grid min-w-0 grid-cols-1 content-start gap-1">
      <figcaption className="flex flex-wrap items-baseline justify-between gap-x-4 text-note">
        <span>
          <strong className="font-semibold">{title}</strong> <span className="text-quiet">{unit}</span>
        </span>
        <span className="text-quiet tabular-nums">
          {index === undefined ? `this ${range.step}` : formatPosition(spans[index]?.time ?? 0, range)}
        </span>
      </figcaption>
      <Legend title={title} lines={lines} index={shown} format={format} />
      {isEmpty ? (
        <p className="text-note text-quiet">{emptyText}</p>
      ) : (
        <Plot {...props} pointed={index} shown={shown} />
      )}
      <ChartTable {...{ title, spans, lines, range, format, linkTo }} />
    </figure>
  )
}

const LABEL = 'fill-quiet text-[0.75rem] tabular-nums'

/** Plot between its axes. The arrow keys move along it; a click or a drag opens the link of the time. */
function Plot({ shown, ...props }: Props & { shown: number }) {
  const { title, kind, spans, lines, format, pointed, onPoint, linkTo } = props
  const isInBrowser = useHydrated() // the server does not know the reader's time zone
  const [selection, setSelection] = useState<number>()
  const begun = useRef<number>(undefined)
  const last = spans.length - 1
  const axis = valueAxis(kind, lines)
  const [from, to] = boundsOf(spans)
  const xOf = (time: number) => (WIDTH * (time - from)) / (to - from)
  const [first, end] = [selection ?? shown, pointed ?? shown].sort((a, b) => a - b)

  function indexAt({ clientX, currentTarget }: PointerEvent): number {
    const { left, width } = currentTarget.getBoundingClientRect()
    const time = from + ((clientX - left) / width) * (to - from)
    const found = spans.findIndex((span) => time < span.end)
    return found < 0 ? last : found
  }

  function open(a: number, b: number): void {
    const [start, stop] = [spans[Math.min(a, b)], spans[Math.max(a, b)]]
    if (start && stop && linkTo) location.assign(linkTo(start.time, stop.time + props.range.stepMs))
  }

  function point(event: PointerEvent): void {
    onPoint(indexAt(event))
    if (begun.current !== undefined) setSelection(begun.current)
  }

  /** A touch only shows the values. */
  function begin(event: PointerEvent): void {
    onPoint(indexAt(event))
    if (event.pointerType === 'mouse' && event.button === 0) begun.current = indexAt(event)
  }

  function finish(event: PointerEvent): void {
    if (begun.current !== undefined) open(begun.current, indexAt(event))
    leave(event)
  }

  function leave({ pointerType }: PointerEvent): void {
    begun.current = undefined
    setSelection(undefined)
    if (pointerType === 'mouse') onPoint(undefined)
  }

  function move(event: KeyboardEvent): void {
    if (event.key === 'Enter') open(shown, shown)
    const next = KEYS[event.key]?.(shown, last)
    if (next === undefined || last < 0) return
    event.preventDefault()
    onPoint(Math.max(0, Math.min(last, next)))
  }

  return (
    <div className="mt-2 grid grid-cols-[3.25rem_minmax(0,1fr)]">
      <svg aria-hidden="true" className="h-28 w-full overflow-visible">
        {axis.ticks.map(({ value, at }) => (
          <text key={value} x="100%" dx="-8" y={`${at}%`} dy="4" textAnchor="end" className={LABEL}>
            {format(value)}
          </text>
        ))}
      </svg>
      <div
        role="slider"
        tabIndex={0}
        aria-label={`${title}: time`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, last)}
        aria-valuenow={Math.max(0, shown)}
        aria-valuetext={describeSpan(spans[shown], shown, props)}
        aria-keyshortcuts="Enter"
        onKeyDown={move}
        onPointerMove={point}
        onPointerDown={begin}
        onPointerUp={finish}
        onPointerLeave={leave}
        onBlur={() => onPoint(undefined)}
        className={`h-28 touch-pan-y select-none ${linkTo ? 'cursor-pointer' : ''}`}
      >
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          aria-hidden="true"
          className="size-full overflow-visible"
          fill="none"
          stroke="currentColor"
        >
          {axis.ticks.map(({ value }) => (
            <Rule key={value} d={`M0 ${axis.yOf(value)}H${WIDTH}`} />
          ))}
          {selection !== undefined && (
            <rect
              x={xOf(spans[first ?? 0]?.time ?? from)}
              width={xOf(spans[end ?? 0]?.end ?? to) - xOf(spans[first ?? 0]?.time ?? from)}
              height={HEIGHT}
              className="fill-quiet/20 stroke-none"
            />
          )}
          {pointed !== undefined && <Rule d={`M${xOf(spans[pointed]?.end ?? to)} 0V${HEIGHT}`} isStrong />}
          {lines.map((line) => (
            <path
              key={line.label}
              d={pathOf(kind, line, spans, axis.yOf)}
              strokeWidth="2"
              strokeDasharray={line.dash?.join(' ')}
              strokeLinecap={kind === 'durations' ? 'round' : 'butt'}
              strokeLinejoin="round"
              vectorEffect="non-scaling-stroke"
              className={TONE_CLASSES[line.tone]}
            />
          ))}
        </svg>
      </div>
      <svg aria-hidden="true" className="col-start-2 h-6 w-full overflow-visible">
        {isInBrowser &&
          timeTicks(from, to)
            .filter(({ at }) => at > FIRST_LABEL && at < LAST_LABEL)
            .map(({ value, at }, index) => (
              <text
                key={value}
                x={`${at}%`}
                y="16"
                textAnchor="middle"
                className={`${LABEL} ${index % 2 === 0 ? '' : 'max-wide:hidden'}`}
              >
                {formatTimeTick(value)}
              </text>
            ))}
      </svg>
    </div>
  )
}

/** Percent of the time axis before and after which a label would touch those of the values, or be cut. */
const [FIRST_LABEL, LAST_LABEL] = [4, 96]

function Rule({ d, isStrong }: { d: string; isStrong?: true }) {
  return <path d={d} vectorEffect="non-scaling-stroke" className={isStrong ? 'text-quiet' : 'text-line'} />
}

type LegendProps = Pick<Props, 'title' | 'lines' | 'format'> & { index: number }

function Legend({ title, lines, index, format }: LegendProps) {
  return (
    <ul className="flex min-h-6 flex-wrap gap-x-4 text-note" aria-label={`Legend of ${title}`}>
      {lines.map(({ label, tone, dash, values, total }) => (
        <li key={label} className="inline-flex items-center gap-1.5">
          <svg viewBox="0 0 20 4" aria-hidden="true" className={`h-1 w-5 ${TONE_CLASSES[tone]}`}>
            <path d="M0 2h20" stroke="currentColor" strokeWidth="3" strokeDasharray={dash?.join(' ')} />
          </svg>
          <span className="text-quiet">{label}</span>{' '}
          <span className="tabular-nums">{formatOrDash(values[index], format)}</span>
          {total !== undefined && <span className="-ml-1.5 text-quiet tabular-nums">, {total} in all</span>}
        </li>
      ))}
    </ul>
  )
}

const KEYS: Record<string, (index: number, last: number) => number> = {
  ArrowLeft: (index) => index - 1,
  ArrowRight: (index) => index + 1,
  PageUp: (index) => index - 10,
  PageDown: (index) => index + 10,
  Home: () => 0,
  End: (_, last) => last,
}

function formatOrDash(value: number | null | undefined, format: Props['format']): string {
  return value === null || value === undefined ? '–' : format(value)
}

function describeSpan(span: Span | undefined, index: number, { lines, format, range }: Props): string {
  if (!span) return 'no data yet'
  const words = lines.map(({ label, values }) => `${label} ${formatOrDash(values[index], format)}`)
  return `${formatPosition(span.time, range)}: ${words.join(', ')}`
}

type TableProps = {
  title: string
  spans: Span[]
  /** A value for each span. */
  lines: Line[]
  range: Range
  format: (value: number) => string
  linkTo: Props['linkTo']
}

/** Renders the table only while it is open: it changes with every refresh. Newest first, without spans in which no replica ran. */
function ChartTable({ title, spans, lines, range, format, linkTo }: TableProps) {
  const { step, stepMs } = range
  const [isOpen, setOpen] = useState(false)
  const rows = () =>
    spans.flatMap(({ time }, index) => {
      if (lines.every(({ values }) => (values[index] ?? null) === null)) return []
      const position = formatPosition(time, range)
      const from = linkTo ? (
        <a key="from" href={linkTo(time, time + stepMs)} className="inline-flex min-h-6 items-center">
          {position}
        </a>
      ) : (
        position
      )
      const cells = lines.map(({ values: { [index]: value } }) =>
        value === null || value === undefined ? '–' : format(value),
      )
      return [{ key: time, cells: [from, ...cells] }]
    })
  return (
    <details className="text-note" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="inline-block min-h-6 text-quiet hover:text-accent">Show as table</summary>
      {isOpen && (
        <div
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area has to be reachable by keyboard
          tabIndex={0}
          className="max-h-64 overflow-auto"
        >
          <Table
            label={`${title}, by ${step}`}
            columns={[
              { name: 'From' },
              ...lines.map(({ label }) => ({ name: label, className: 'text-right' })),
            ]}
            rows={rows().reverse()}
          />
        </div>
      )}
    </details>
  )
}
