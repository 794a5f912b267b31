/** Draws the chart of cost: a panel for each kind of body, a bar for each subject, with the spread of the rounds. */

import * as Plot from '@observablehq/plot'
import { spreadOf } from '../report/statistics.ts'
import { COLOURS, panelNames, renderSvg, words } from '../report/svg.ts'
import { type Comparison, sampleIn, subjectsOf } from './comparison.ts'
import { SUBJECTS, type Subject } from './subjects.ts'

/** Bars relative to the longest bar of their panel: the panels differ by four orders of magnitude. */
type Bar = {
  kind: Comparison[number]['kind']
  subject: Subject
  title: string
  length: number
  from: number
  to: number
  label: string
}

const TITLE = 'CPU time per envelope'
const KEY = 'Shorter is better; lines are the spread of the rounds; pale are lower bounds.'
const LABELS = 224 // pixels
const LEFT = 16 - LABELS // of the panels: where the labels begin

export function drawChart(sideBySide: Comparison, about: string): string {
  const bars = sideBySide.flatMap(barsOf)
  const place = { y: 'title', fx: 'kind' }
  return renderSvg(
    `${TITLE}: ${bars.map(({ kind, title, label }) => `${kind}, ${title}: ${label}`).join('; ')}`,
    {
      ...{ width: 960, height: 356, marginLeft: LABELS, marginRight: 48, marginTop: 74, marginBottom: 46 },
      style: { fontSize: '12px' },
      x: { axis: null, domain: [0, 1] },
      y: {
        domain: subjectsOf(sideBySide).map((subject) => SUBJECTS[subject].title),
        label: null,
        padding: 0.28,
      },
      fx: { domain: sideBySide.map(({ kind }) => kind), label: null, padding: 0.34 },
      marks: [
        Plot.axisY({
          label: null,
          tickSize: 0,
          tickPadding: 0,
          textAnchor: 'start',
          dx: LEFT,
          fill: COLOURS.ink,
        }),
        panelNames(),
        Plot.barX(bars, { ...place, x: 'length', fill: colourOf }),
        Plot.ruleY(bars, { ...place, x1: 'from', x2: 'to', stroke: COLOURS.ink }),
        Plot.text(bars, { ...place, x: 'to', text: 'label', textAnchor: 'start', dx: 5, fill: COLOURS.ink }),
        words(TITLE, 'top-left', { dx: LEFT, dy: -58, fontSize: 15, fontWeight: 600, fill: COLOURS.ink }),
        words(`${KEY} ${about}.`, 'bottom-left', {
          ...{ dx: LEFT, dy: 14, lineAnchor: 'top', lineWidth: 84, lineHeight: 1.3 },
          ...{ fontSize: 10.5, fill: COLOURS.faint },
        }),
      ],
    },
  )
}

const colourOf = ({ subject }: Bar) => COLOURS[SUBJECTS[subject].kind]

function barsOf({ kind, rounds }: Comparison[number]): Bar[] {
  const spreads = subjectsOf([{ rounds }]).map((subject) => ({
    subject,
    ...spreadOf(rounds.map((round) => sampleIn(round, subject).cpu)),
  }))
  const longest = Math.max(...spreads.map(({ max }) => max))
  return spreads.map(({ subject, median, min, max }) => ({
    ...{ kind, subject, title: SUBJECTS[subject].title, label: showMicros(median) },
    ...{ length: median / longest, from: min / longest, to: max / longest },
  }))
}

function showMicros(micros: number): string {
  return micros < 1000 ? `${micros.toFixed(0)} µs` : `${(micros / 1000).toPrecision(2)} ms`
}
