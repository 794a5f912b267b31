/** Loads uPlot, and makes the options of its plots. */

import type uPlot from 'uplot'
import { formatTimeTick, type Range } from './range.ts'

/** Colour of a line: that of an outcome, or a neutral one. */
type Tone = 'good' | 'wait' | 'hold' | 'drop' | 'bad' | 'ink' | 'quiet'

/** `dash` tells lines apart without their colour. */
export type Line = {
  label: string
  tone: Tone
  dash?: number[]
  /** `null`: nothing was counted. */
  values: (number | null)[]
  /** Number over the whole chart. */
  total?: string
}

export const TONE_CLASSES: Record<Tone, string> = {
  good: 'text-good',
  wait: 'text-wait',
  hold: 'text-hold',
  drop: 'text-drop',
  bad: 'text-bad',
  ink: 'text-ink',
  quiet: 'text-quiet',
}

export const PLOT_HEIGHT = 112
const DAY_MS = 86_400_000
/** Seconds between the ticks of the time axis. */
const TIME_STEPS = [
  ...[60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200],
  ...[86_400, 172_800, 345_600],
]
const TICK_STEPS = Array.from({ length: 11 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat()
const LOGARITHMIC = 3 // uPlot's number of this distribution
const SHARED_CURSOR = {
  key: 'time',
  filters: { pub: (type: string) => type === 'mousemove', sub: () => true },
}

/** `counts`: whole numbers, each of the time before it. `durations`: measured at their time, on a logarithmic axis, so that one peak does not flatten the others. */
export type PlotKind = 'counts' | 'durations'

type PlotSettings = {
  kind: PlotKind
  range: Range
  lines: Line[]
  /** Formats a value without its unit. */
  formatTick: (value: number) => string
  /** Called with the index under the pointer; `undefined` when it leaves the plot. */
  onPoint: (index: number | undefined) => void
  /** Called with a span of time that was dragged over, in milliseconds since 1970. */
  onSelect: (from: number, to: number) => void
}

export function plotOptions(
  { paths: drawings }: typeof uPlot,
  element: HTMLElement,
  { kind, range, lines, formatTick, onPoint, onSelect }: PlotSettings,
): uPlot.Options {
  const colour = colourOf(element, 'text-quiet')
  const paths = kind === 'counts' ? drawings.stepped?.({ align: -1, alignGaps: -1 }) : undefined
  const filter = kind === 'counts' ? justZero : justDecades
  const axis = { stroke: colour, font: '12px system-ui, sans-serif', ticks: { show: false } }
  return {
    width: element.clientWidth,
    height: PLOT_HEIGHT,
    padding: [null, range.ms >= DAY_MS ? 30 : null, null, null], // for a date at the end of the axis
    legend: { show: false },
    cursor: {
      sync: SHARED_CURSOR,
      y: false,
      points: { size: 6 },
      drag: { x: true, y: false, setScale: false, dist: 5 },
    },
    hooks: {
      setCursor: [({ cursor: { idx, left = -1 } }) => onPoint(left < 0 ? undefined : (idx ?? undefined))],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select
          const timeAt = (x: number) => plot.posToVal(x, 'x') * 1000
          if (width > 0) onSelect(timeAt(left), timeAt(left + width))
        },
      ],
    },
    scales: {
      x: { range: (plot) => rangeOf(plot, range) },
      y:
        kind === 'counts'
          ? { range: (_, __, max) => [0, max > 0 ? max * 1.12 : 1] }
          : { distr: LOGARITHMIC, range: (_, min, max) => decadesOf(min, max) },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        incrs: TIME_STEPS,
        space: 72, // pixels: a date and a gap
        size: 28,
        values: (_, splits) => splits.map((seconds) => formatTimeTick(seconds * 1000)),
      },
      {
        ...axis,
        size: 52,
        incrs: TICK_STEPS,
        values: (_, splits: readonly (number | null)[]) =>
          splits.map((value) => (value === null ? null : formatTick(value))), // `filter` leaves ticks out
        filter,
        grid: { stroke: colourOf(element, 'text-line'), width: 1, filter },
      },
    ],
    series: [
      {},
      ...lines.map(({ tone, dash, values: _ }) => ({
        stroke: colourOf(element, TONE_CLASSES[tone]),
        width: 2,
        ...(dash && { dash }),
        ...(paths && { paths }),
        points: { show: true, size: 5, fill: colourOf(element, TONE_CLASSES[tone]), filter: alone },
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

/** Returns the time range in seconds, with room for a dot at its end. */
function rangeOf({ data: [times] }: uPlot, { ms }: Range): [number, number] {
  const last = times.at(-1) ?? 0
  const first = Math.min(times[0] ?? last, last - ms / 1000)
  return [first, last + (last - first) / 100]
}

/** Returns the powers of ten around the values; `null` while there are none. */
export function decadesOf(min: number | null, max: number | null): [number, number] {
  const low = Math.floor(Math.log10(min || 1))
  return [10 ** low, 10 ** Math.max(low + 1, Math.ceil(Math.log10(max || 1)))]
}

function justDecades(_: uPlot, splits: number[]): (number | null)[] {
  return splits.map((at) => (Number.isInteger(Math.log10(at)) ? at : null))
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

type Language = { readonly language: string }

export function loadPlotLibrary(): Promise<typeof uPlot> {
  return withKnownLanguage(navigator, async () => (await import('uplot')).default)
}

/** Calls `load` with the language `en` where the browser's is none: WebKit may name the locale `C`, for which `Intl` throws. */
export async function withKnownLanguage<T>(browser: Language, load: () => Promise<T>): Promise<T> {
  if (isKnown(browser.language)) return load()
  Object.defineProperty(browser, 'language', { value: 'en', configurable: true })
  try {
    return await load()
  } finally {
    Reflect.deleteProperty(browser, 'language')
  }
}

function isKnown(language: string): boolean {
  try {
    return Intl.getCanonicalLocales(language).length > 0
  } catch {
    return false
  }
}
