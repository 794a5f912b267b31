/** Scales, ticks and paths of charts. */

import type { Span } from './figure-sums.ts'

/** Colour of a line: that of an outcome, or a neutral one. */
type Tone = 'good' | 'wait' | 'hold' | 'drop' | 'bad' | 'ink' | 'quiet'

/** `dash` distinguishes lines without their colour. */
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

/** `counts`: whole numbers, each of its span. `durations`: measured at the end of their span, on a logarithmic axis, so that one peak does not flatten the others. */
export type PlotKind = 'counts' | 'durations'

/** Size of a plot in its own units; the browser stretches it. */
export const [WIDTH, HEIGHT] = [1000, 100]
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const TIME_STEPS = [2 * MINUTE_MS, 10 * MINUTE_MS, 3 * HOUR_MS, DAY_MS]
const MAX_TIME_TICKS = 8
const MAX_VALUE_TICKS = 3

/** Position on an axis, in percent from its start. */
type Tick = { value: number; at: number }

/** Axis of the values. `yOf` returns a position from the top. */
type ValueAxis = { ticks: Tick[]; yOf: (value: number) => number }

export function valueAxis(kind: PlotKind, lines: readonly Line[]): ValueAxis {
  const values = lines.flatMap((line) => line.values.filter((value) => value !== null))
  const scale = kind === 'counts' ? countScale(values) : durationScale(values.filter((value) => value > 0))
  const yOf = (value: number) => HEIGHT * (1 - scale.shareOf(value))
  return { yOf, ticks: scale.ticks.map((value) => ({ value, at: (100 * yOf(value)) / HEIGHT })) }
}

type Scale = { ticks: number[]; shareOf: (value: number) => number }

function countScale(values: readonly number[]): Scale {
  const max = Math.max(1, ...values)
  const power = 10 ** Math.floor(Math.log10(max))
  const steps = [power / 10, power / 5, power / 2, power, 2 * power, 5 * power].filter((step) => step >= 1)
  const step = steps.find((each) => max / each <= MAX_VALUE_TICKS) ?? power
  const ticks = Array.from({ length: Math.floor(max / step) + 1 }, (_, index) => index * step)
  return { ticks, shareOf: (value) => value / (max * 1.12) }
}

/** Has ticks at powers of ten. */
function durationScale(values: readonly number[]): Scale {
  const [low, high] = decadesOf(values)
  const [from, to] = [Math.log10(low), Math.log10(high)]
  const ticks = Array.from({ length: Math.round(to - from) + 1 }, (_, index) => low * 10 ** index)
  return { ticks, shareOf: (value) => Math.max(0, (Math.log10(value) - from) / (to - from)) }
}

/** Returns the powers of ten around the values. */
export function decadesOf(values: readonly number[]): [low: number, high: number] {
  const [min, max] = values.length > 0 ? [Math.min(...values), Math.max(...values)] : [1, 1]
  const low = Math.floor(Math.log10(min))
  return [10 ** low, 10 ** Math.max(low + 1, Math.ceil(Math.log10(max)))]
}

/** Returns the ticks of the time axis, at round times of the reader's zone. */
export function timeTicks(from: number, to: number): Tick[] {
  const step = TIME_STEPS.find((each) => (to - from) / each <= MAX_TIME_TICKS) ?? DAY_MS
  const day = new Date(from).setHours(0, 0, 0, 0)
  const count = Math.ceil((to - day) / step) + 1
  return Array.from({ length: count }, (_, index) => timeAfter(day, index * step))
    .filter((value) => value >= from && value <= to)
    .map((value) => ({ value, at: (100 * (value - from)) / (to - from) }))
}

/** Returns the time of the reader's zone that is `ms` of its clock after a midnight: some days have 23 or 25 hours. */
function timeAfter(midnight: number, ms: number): number {
  const date = new Date(midnight)
  date.setDate(date.getDate() + Math.floor(ms / DAY_MS))
  return date.setHours(0, 0, 0, ms % DAY_MS)
}

/** Returns the drawing of a line: steps for counts, else a line between the ends of the spans. A value without neighbours is a column, or a level line over its span. */
export function pathOf(
  kind: PlotKind,
  { values }: Line,
  spans: readonly Span[],
  yOf: ValueAxis['yOf'],
): string {
  const [from, to] = boundsOf(spans)
  const xOf = (time: number) => round((WIDTH * (time - from)) / Math.max(1, to - from))
  const isValue = (index: number) => (values[index] ?? null) !== null
  return spans
    .map(({ time, end }, index) => {
      const value = values[index] ?? null
      if (value === null) return ''
      const y = round(yOf(value))
      const isAlone = !isValue(index - 1) && !isValue(index + 1)
      const command = isValue(index - 1) ? 'L' : 'M'
      if (kind === 'durations')
        return isAlone ? `M${xOf(time)} ${y}H${xOf(end)}` : `${command}${xOf(end)} ${y}`
      return isAlone
        ? `M${xOf(time)} ${HEIGHT}V${y}H${xOf(end)}V${HEIGHT}`
        : `${command}${xOf(time)} ${y}H${xOf(end)}`
    })
    .join('')
}

/** Returns the begin of the first span, and the end of the last one. */
export function boundsOf(spans: readonly Span[]): [from: number, to: number] {
  return [spans[0]?.time ?? 0, spans.at(-1)?.end ?? 1]
}

function round(position: number): number {
  return Math.round(position * 10) / 10
}
