/** Renders a chart as a standalone SVG file for light and dark pages. */

import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'

/** Fill colours of marks, with a light and a dark form. */
export const COLOURS = {
  ours: 'var(--ours)',
  others: 'var(--others)',
  floors: 'var(--floors)',
  wrong: 'var(--wrong)',
  ink: 'var(--ink)',
  faint: 'var(--faint)',
}

const STYLE = `
  svg { --paper: #fbfaf7; --ink: #17211f; --faint: #55605c; --ours: #0b6650; --others: #97a19d; --floors: #d0d5d2; --wrong: #b3402a; color: var(--ink); }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #101413; --ink: #e7ece9; --faint: #9daaa5; --ours: #62d2b0; --others: #6a7672; --floors: #39423f; --wrong: #f0866d; }
  }
  text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
`

/** Renders a chart; screen readers read `title`. */
export function renderSvg(title: string, options: Plot.PlotOptions): string {
  const { document } = parseHTML('<!doctype html><html><body></body></html>')
  const svg = Plot.plot({ ...options, document: document as unknown as Document })
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  svg.setAttribute('role', 'img')
  svg.querySelector('style')?.remove() // styles of Plot for web pages
  svg.prepend(...headOf(document as unknown as Document, title))
  return `${svg.outerHTML}\n`
}

/** Renders the names of the panels above them. */
export function panelNames(): Plot.CompoundMark {
  return Plot.axisFx({
    label: null,
    fill: COLOURS.ink,
    fontWeight: 600,
    textAnchor: 'start',
    frameAnchor: 'top-left',
  })
}

/** Renders labels beside the panels, once. */
export function words(text: string, frameAnchor: Plot.FrameAnchor, options: Plot.TextOptions): Plot.Text {
  return Plot.text([text], { facet: 'super', textAnchor: 'start', frameAnchor, ...options })
}

function headOf(document: Document, title: string): Element[] {
  const make = (name: string) => document.createElementNS('http://www.w3.org/2000/svg', name)
  const [name, style, paper] = [make('title'), make('style'), make('rect')]
  name.textContent = title
  style.textContent = STYLE
  for (const [key, value] of Object.entries({ width: '100%', height: '100%', fill: 'var(--paper)' }))
    paper.setAttribute(key, value)
  return [name, style, paper]
}
