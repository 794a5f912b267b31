/** Lines over the last quarter of an hour; the figures under the pointer stand in the legend. */
'use client'

import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import './chart.css'
import { sayClock } from '../../lib/console/words.ts'
import type { State } from '../../lib/state.ts'
import { STATE_TEXT } from '../state.tsx'

/** `dash` tells lines apart without their colour. */
export type Line = { label: string; state: State; dash?: number[]; values: (number | null)[] }

type Props = {
  title: string
  /** In seconds since 1970. */
  times: number[]
  lines: Line[]
  say: (value: number) => string
}

const HEIGHT = 170

export function Chart({ title, times, lines, say }: Props) {
  const holder = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const shape = JSON.stringify(lines.map(({ label, state, dash }) => [label, state, dash]))
  const data: uPlot.AlignedData = [times, ...lines.map(({ values }) => values)]
  const newest = useRef(data)
  newest.current = data

  // biome-ignore lint/correctness/useExhaustiveDependencies: a plot is made anew when its lines are others, not when they grow
  useEffect(() => {
    const element = holder.current
    if (!element) return
    const make = () => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsFor(element, lines, say), newest.current, element)
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

  return (
    <figure className="min-w-0">
      <figcaption className="text-note text-quiet">
        {title}
        <span className="sr-only">: {summary(lines, say)}</span>
      </figcaption>
      <div ref={holder} className="min-h-50 text-note" />
    </figure>
  )
}

function summary(lines: Line[], say: (value: number) => string): string {
  const now = lines.flatMap(({ label, values }) => {
    const value = values.findLast((each) => each !== null)
    return value ? `${label} ${say(value)}` : []
  })
  return now.length > 0 ? now.join(', ') : 'nothing just now'
}

function optionsFor(element: HTMLElement, lines: Line[], say: (value: number) => string): uPlot.Options {
  const quiet = colourOf(element, 'text-quiet')
  const axis = { stroke: quiet, font: '12px system-ui, sans-serif', ticks: { show: false } }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    cursor: { y: false, points: { size: 6 } },
    legend: {
      live: true,
      markers: { dash: (_, index) => sayDash(lines[index - 1]?.dash) },
    },
    scales: { y: { range: (_, __, most) => [0, Math.max(1e-6, most * 1.15)] } },
    axes: [
      { ...axis, grid: { show: false }, space: 70, values: (_, splits) => splits.map(sayTime) },
      {
        ...axis,
        size: 62,
        values: (_, splits) => splits.map((value) => say(value)),
        grid: { stroke: colourOf(element, 'text-line'), width: 1 },
      },
    ],
    series: [
      { label: 'at', value: (_, time) => (time === null ? '–' : sayTime(time)) },
      ...lines.map(({ label, state, dash }) => ({
        label,
        stroke: colourOf(element, STATE_TEXT[state]),
        width: 2,
        ...(dash && { dash }),
        points: { show: false },
        value: (_: uPlot, value: number | null) => (value === null ? '–' : say(value)),
      })),
    ],
  }
}

function sayTime(seconds: number): string {
  return sayClock(seconds * 1000)
}

/** As CSS knows dashes. */
function sayDash(dash: number[] | undefined): string {
  if (!dash) return 'solid'
  return (dash[0] ?? 0) > 4 ? 'dashed' : 'dotted'
}

/** What a class of the page's own colours looks like in the reader's scheme: a canvas knows no classes. */
function colourOf(element: HTMLElement, name: string): string {
  const probe = element.appendChild(document.createElement('span'))
  probe.className = name
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
