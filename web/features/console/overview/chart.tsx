/** Line chart of the last 15 minutes. The legend shows the values under the pointer, or at the position of the arrow keys. */
'use client'

import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { formatMinute, formatTime } from '../../../lib/format.ts'
import { ChartTable, type MinuteRow } from './chart-table.tsx'
import { shownFrom } from './history.ts'

/** Colour of a line: that of an outcome, or a neutral one. */
export type Tone = 'good' | 'wait' | 'hold' | 'drop' | 'bad' | 'ink' | 'quiet'

/** `dash` tells lines apart without their colour. */
export type Line = {
  label: string
  tone: Tone
  dash?: number[]
  values: (number | null)[]
}

type Props = {
  title: string
  /** Unit of the values, in words. */
  unit: string
  /** Milliseconds since 1970. */
  times: number[]
  lines: Line[]
  /** Formats a value with its unit. */
  format: (value: number) => string
  /** Formats a value without its unit. */
  formatTick: (value: number) => string
  /** Text shown while there is no data. */
  nothing: string
  minutes: MinuteRow[]
}

const HEIGHT = 168
const STEPS = Array.from({ length: 12 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** (power - 1)),
).flat()

export function Chart({ title, unit, times, lines, format, formatTick, nothing, minutes }: Props) {
  const holder = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const [at, pointAt] = useState<number>()
  const shape = JSON.stringify([lines.map(({ label, tone, dash }) => [label, tone, dash]), unit])
  const data: uPlot.AlignedData = [times.map((time) => time / 1000), ...lines.map(({ values }) => values)]
  const newest = useRef(data)
  newest.current = data

  // biome-ignore lint/correctness/useExhaustiveDependencies: a plot is made anew when its lines are others, not when they grow
  useEffect(() => {
    const element = holder.current
    if (!element) return
    const make = () => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsFor(element, lines, formatTick, pointAt), newest.current, element)
    }
    make()
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', make)
    const resized = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }),
    )
    resized.observe(element)
    return () => {
      scheme.removeEventListener('change', make)
      resized.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [shape])

  useEffect(() => {
    plot.current?.setData(newest.current)
  })

  const index = at !== undefined && at < times.length ? at : undefined
  const shown = index ?? times.length - 1
  const isEmpty = lines.every(({ values }) => values.every((value) => !value))

  function moveBy(event: KeyboardEvent): void {
    const to = KEYS[event.key]?.(shown, times.length - 1)
    if (to === undefined || times.length === 0) return
    event.preventDefault()
    const left = plot.current?.valToPos((times[clamp(to, times.length - 1)] ?? 0) / 1000, 'x')
    plot.current?.setCursor({ left: left ?? -1, top: 0 })
  }

  return (
    <figure className="m-0 grid min-w-0 grid-cols-1 content-start gap-1">
      <figcaption className="flex flex-wrap items-baseline justify-between gap-x-4 text-note">
        <span>
          <strong className="font-semibold">{title}</strong> <span className="text-quiet">{unit}</span>
        </span>
        <span className="text-quiet tabular-nums">
          {index === undefined ? 'now' : formatTime(times[index] ?? 0)}
        </span>
      </figcaption>
      <ul className="flex min-h-6 flex-wrap gap-x-4 text-note" aria-label={`Legend of ${title}`}>
        {lines.map(({ label, tone, dash, values }) => (
          <li key={label} className="inline-flex items-center gap-1.5">
            <svg viewBox="0 0 20 4" aria-hidden="true" className={`h-1 w-5 ${TEXT[tone]}`}>
              <path d="M0 2h20" stroke="currentColor" strokeWidth="3" strokeDasharray={dash?.join(' ')} />
            </svg>
            <span className="text-quiet">{label}</span>{' '}
            <span className="tabular-nums">{formatOrDash(values[shown], format)}</span>
          </li>
        ))}
      </ul>
      <div className="relative">
        <div
          ref={holder}
          role="slider"
          tabIndex={0}
          aria-label={`${title}: time`}
          aria-valuemin={0}
          aria-valuemax={Math.max(0, times.length - 1)}
          aria-valuenow={Math.max(0, shown)}
          aria-valuetext={describePoint(times[shown], lines, shown, format)}
          onKeyDown={moveBy}
          onBlur={() => plot.current?.setCursor({ left: -1, top: -1 })}
          className="min-h-42"
        />
        {isEmpty && (
          <p className="pointer-events-none absolute inset-x-0 top-1/3 pl-10 text-center text-note text-quiet">
            {nothing}
          </p>
        )}
      </div>
      <ChartTable title={title} columns={lines.map(({ label }) => label)} rows={minutes} />
    </figure>
  )
}

const TEXT: Record<Tone, string> = {
  good: 'text-good',
  wait: 'text-wait',
  hold: 'text-hold',
  drop: 'text-drop',
  bad: 'text-bad',
  ink: 'text-ink',
  quiet: 'text-quiet',
}

const KEYS: Record<string, (at: number, last: number) => number> = {
  ArrowLeft: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  PageUp: (at) => at - 10,
  PageDown: (at) => at + 10,
  Home: () => 0,
  End: (_, last) => last,
}

function clamp(to: number, last: number): number {
  return Math.max(0, Math.min(last, to))
}

function formatOrDash(value: number | null | undefined, format: Props['format']): string {
  return value === null || value === undefined ? '–' : format(value)
}

function describePoint(time: number | undefined, lines: Line[], at: number, format: Props['format']): string {
  if (time === undefined) return 'no data yet'
  const words = lines.map(({ label, values }) => `${label} ${formatOrDash(values[at], format)}`)
  return `${formatTime(time)}: ${words.join(', ')}`
}

function optionsFor(
  element: HTMLElement,
  lines: Line[],
  formatTick: (value: number) => string,
  onPoint: (at: number | undefined) => void,
): uPlot.Options {
  const colour = colourOf(element, 'text-quiet')
  const axis = { stroke: colour, font: '12px system-ui, sans-serif', ticks: { show: false } }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    hooks: {
      setCursor: [({ cursor: { idx, left = -1 } }) => onPoint(left < 0 ? undefined : (idx ?? undefined))],
    },
    scales: {
      x: { range: rangeOf },
      y: { range: (_, __, p95) => [0, p95 > 0 ? p95 * 1.12 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        incrs: [60, 120, 300],
        space: 60,
        size: 28,
        values: (_, splits) => splits.map((seconds) => formatMinute(seconds * 1000)),
      },
      {
        ...axis,
        size: 44,
        incrs: STEPS,
        values: (_, splits) => splits.map(formatTick),
        filter: justZero,
        grid: { stroke: colourOf(element, 'text-line'), width: 1, filter: justZero },
      },
    ],
    series: [
      {},
      ...lines.map(({ tone, dash, values: _ }) => ({
        stroke: colourOf(element, TEXT[tone]),
        width: 2,
        ...(dash && { dash }),
        points: { show: true, size: 5, fill: colourOf(element, TEXT[tone]), filter: alone },
      })),
    ],
  }
}

/** Returns the indexes of values without neighbours, which are drawn as dots. */
function alone(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? []
  const isThere = (at: number) => values[at] !== null && values[at] !== undefined
  return Array.from(values.keys()).filter((at) => isThere(at) && !isThere(at - 1) && !isThere(at + 1))
}

/** Returns the time range in seconds, with room for a dot at its end. For a single sample, uPlot would show a day. */
function rangeOf({ data: [times] }: uPlot): [number, number] {
  const [first = 0, last = 0] = [times[0], times.at(-1)]
  const from = shownFrom(first * 1000, last * 1000) / 1000
  return [from, last + (last - from) / 100]
}

/** Keeps only the zero of a scale when all values are zero. */
function justZero({ data: [, ...lines] }: uPlot, splits: number[]): (number | null)[] {
  const isFlat = lines.every((values) => Array.from(values).every((value) => !value))
  return isFlat ? splits.map((at) => (at === 0 ? 0 : null)) : splits
}

/** Resolves a colour class in the current colour scheme, since a canvas knows no classes. */
function colourOf(element: HTMLElement, name: string): string {
  const probe = element.appendChild(document.createElement('span'))
  probe.className = name
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
