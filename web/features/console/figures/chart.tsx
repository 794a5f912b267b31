/** Line chart over a range of time. The legend shows the values under the pointer, or at the position of the arrow keys. */
'use client'

import 'uplot/dist/uPlot.min.css'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import type uPlot from 'uplot'
import { Table } from '../../../ui/table.tsx'
import type { Span } from './figure-sums.ts'
import { type Line, loadPlotLibrary, PLOT_HEIGHT, type PlotKind, plotOptions, TONE_CLASSES } from './plot.ts'
import { formatPosition, type Range } from './range.ts'

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
  /** Formats a value without its unit. */
  formatTick: (value: number) => string
  /** Text shown while there is no data. */
  emptyText: string
  /** Returns the link of a span: where its envelopes are listed. */
  linkTo?: (from: number, to: number) => string
}

export function Chart(props: Props) {
  const { title, range, unit, spans, lines, format, emptyText, linkTo } = props
  const { holder, plot, pointed, hasFailed } = usePlot(props)
  const index = pointed !== undefined && pointed < spans.length ? pointed : undefined
  const last = spans.length - 1
  const shown = index ?? last
  const isEmpty = lines.every(({ values }) => values.every((value) => !value))

  function openFeed(): void {
    const span = spans[shown]
    if (span && linkTo) location.assign(linkTo(span.time, span.time + range.stepMs))
  }

  function moveCursor(event: KeyboardEvent): void {
    if (event.key === 'Enter') openFeed()
    const to = KEYS[event.key]?.(shown, last)
    if (to === undefined || last < 0) return
    event.preventDefault()
    const { end = 0 } = spans[Math.max(0, Math.min(last, to))] ?? {}
    plot.current?.setCursor({ left: plot.current.valToPos(end / 1000, 'x'), top: 0 })
  }

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
      <div className="relative">
        <div
          ref={holder}
          role="slider"
          tabIndex={0}
          aria-label={`${title}: time`}
          aria-valuemin={0}
          aria-valuemax={Math.max(0, last)}
          aria-valuenow={Math.max(0, shown)}
          aria-valuetext={describeSpan(spans[shown], shown, props)}
          aria-keyshortcuts="Enter"
          onKeyDown={moveCursor}
          onClick={() => matchMedia('(hover: hover)').matches && openFeed()} // a touch only shows the values
          onBlur={() => plot.current?.setCursor({ left: -1, top: -1 })}
          className={`min-h-28 cursor-pointer ${isEmpty ? 'hidden' : ''}`}
        />
        {(hasFailed || isEmpty) && (
          <p className="text-note text-quiet">
            {isEmpty ? emptyText : 'The chart could not be loaded. Reload the page, or use the table.'}
          </p>
        )}
      </div>
      <ChartTable {...{ title, spans, lines, range, format, linkTo }} />
    </figure>
  )
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

/** Draws the plot into `holder` once uPlot is loaded, and tracks the index under the pointer. */
function usePlot({ kind, range, unit, spans, lines, formatTick, linkTo }: Props) {
  const holder = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const [library, setLibrary] = useState<typeof uPlot>()
  const [hasFailed, setFailed] = useState(false)
  const [pointed, setPointed] = useState<number>()
  const data = plotData(kind, spans, lines)
  const newest = useRef(data)
  newest.current = data
  const shape = JSON.stringify([lines.map(({ label, tone, dash }) => [label, tone, dash]), unit, range.key])

  useEffect(() => {
    loadPlotLibrary().then(
      (loaded) => setLibrary(() => loaded),
      () => setFailed(true),
    )
  }, [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: new values update the plot, new lines replace it
  useEffect(() => {
    const element = holder.current
    if (!element || !library) return
    const draw = () => {
      plot.current?.destroy()
      const options = plotOptions(library, element, {
        ...{ kind, range, lines, formatTick },
        onPoint: (index) => setPointed(index === undefined ? index : Math.max(0, index - 1)),
        onSelect: (from, to) => linkTo && location.assign(linkTo(from, to)),
      })
      plot.current = new library(options, newest.current, element)
    }
    draw()
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', draw)
    const themed = new MutationObserver(draw)
    themed.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    const resized = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: PLOT_HEIGHT }),
    )
    resized.observe(element)
    return () => {
      scheme.removeEventListener('change', draw)
      themed.disconnect()
      resized.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [shape, library])

  useEffect(() => {
    plot.current?.setData(newest.current)
  })
  return { holder, plot, pointed, hasFailed }
}

const KEYS: Record<string, (index: number, last: number) => number> = {
  ArrowLeft: (index) => index - 1,
  ArrowRight: (index) => index + 1,
  PageUp: (index) => index - 10,
  PageDown: (index) => index + 10,
  Home: () => 0,
  End: (_, last) => last,
}

/** Returns the value of each span at its end. Counts are drawn as steps, so that the first span needs a start, and charts share one time axis. */
function plotData(kind: PlotKind, spans: readonly Span[], lines: readonly Line[]): uPlot.AlignedData {
  const lead = ({ values: [first = null] }: Line) => (kind === 'counts' ? first : null)
  return [
    [...spans.slice(0, 1).map(({ time }) => time), ...spans.map(({ end }) => end)].map((ms) => ms / 1000),
    ...lines.map((line) => [...line.values.slice(0, 1).map(() => lead(line)), ...line.values]),
  ]
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
