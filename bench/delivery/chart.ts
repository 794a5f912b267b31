/** Draws the chart of delivery: a column for each subject, a bar for each scenario, and lost reports in another colour. */

import * as Plot from '@observablehq/plot'
import { COLOURS, panelNames, renderSvg, words } from '../report/svg.ts'
import type { Results } from './results.ts'
import type { SubjectName } from './subjects/subjects.ts'
import { showPercent } from './table.ts'
import { totalsOf } from './totals.ts'

type Bar = { scenario: string; subject: string; share: number; colour: string; label: string }

const TITLE = 'Of the reports that browsers sent, how many arrived at Sentry'

const NAMES: Record<SubjectName, string> = {
  direct: 'straight to Sentry',
  loaderScript: 'Loader Script',
  tunnelRoute: 'tunnelRoute',
  handler: 'handleTunnelRequest',
  culvert: 'Culvert',
}

const ROW = 22
const LABELS = 232 // pixels
const LEFT = 10 - LABELS // of the panels: where the labels begin
const [TOP, BOTTOM] = [72, 34]

export function drawChart({ scenarios, subjects }: Results, about: string): string {
  const shown = scenarios.filter(({ skipped }) => skipped === undefined)
  const bars = shown.flatMap(({ title, rounds }) =>
    subjects.map((subject): Bar => {
      const { arrived, sent } = totalsOf(rounds, subject)
      const share = sent > 0 ? arrived / sent : 0
      return {
        ...{ scenario: title, subject: NAMES[subject], share },
        ...{ colour: subject === 'culvert' ? COLOURS.ours : COLOURS.others, label: showPercent(share) },
      }
    }),
  )
  const place = { y: 'scenario', fx: 'subject' }
  return renderSvg(
    `${TITLE}: ${bars.map(({ scenario, subject, label }) => `${scenario}, ${subject}: ${label}`).join('; ')}`,
    {
      ...{ width: 960, height: TOP + BOTTOM + ROW * shown.length, marginLeft: LABELS, marginRight: 48 },
      ...{ marginTop: TOP, marginBottom: BOTTOM },
      style: { fontSize: '12px' },
      x: { axis: null, domain: [0, 1] },
      y: { domain: shown.map(({ title }) => title), label: null, padding: 0.28 },
      fx: { domain: subjects.map((subject) => NAMES[subject]), label: null, padding: 0.36 },
      marks: [
        Plot.axisY({ label: null, tickSize: 0, fill: COLOURS.ink }),
        panelNames(),
        Plot.barX(bars, { ...place, x: 'share', fill: 'colour' }),
        Plot.barX(
          bars.filter(({ share }) => share < 1),
          { ...place, x1: 'share', x2: 1, fill: COLOURS.wrong },
        ),
        Plot.text(bars, { ...place, x: 1, text: 'label', textAnchor: 'start', dx: 5, fill: COLOURS.ink }),
        words(TITLE, 'top-left', { dx: LEFT, dy: -62, fontSize: 15, fontWeight: 600, fill: COLOURS.ink }),
        words(`red is lost; ${about}`, 'bottom-left', {
          dx: LEFT,
          dy: 26,
          fontSize: 10.5,
          fill: COLOURS.faint,
        }),
      ],
    },
  )
}
