/** The picture of what arrives: a column for each way, a bar for each situation, and in another colour what was lost. */

import * as Plot from '@observablehq/plot'
import { COLOURS, drawPicture, panelNames, words } from '../report/picture.ts'
import type { Results } from './results.ts'
import type { WayName } from './subjects/ways.ts'
import { sumOf } from './sums.ts'
import { showPercent } from './table.ts'

type Bar = { situation: string; way: string; share: number; colour: string; label: string }

const TITLE = 'Of the reports that browsers sent, how many arrived at Sentry'

const NAMES: Record<WayName, string> = {
  direct: 'straight to Sentry',
  tunnelRoute: 'tunnelRoute',
  handler: 'handleTunnelRequest',
  culvert: 'Culvert',
}

const ROW = 22
const LABELS = 232 // pixels
const LEFT = 10 - LABELS // of the panels, where words begin
const [TOP, BOTTOM] = [72, 34]

export function drawChart({ situations, ways }: Results, about: string): string {
  const shown = situations.filter(({ skipped }) => skipped === undefined)
  const bars = shown.flatMap(({ title, rounds }) =>
    ways.map((way): Bar => {
      const { arrived, handed } = sumOf(rounds, way)
      const share = handed > 0 ? arrived / handed : 0
      return {
        ...{ situation: title, way: NAMES[way], share },
        ...{ colour: way === 'culvert' ? COLOURS.ours : COLOURS.others, label: showPercent(share) },
      }
    }),
  )
  const place = { y: 'situation', fx: 'way' }
  return drawPicture(
    `${TITLE}: ${bars.map(({ situation, way, label }) => `${situation}, ${way}: ${label}`).join('; ')}`,
    {
      ...{ width: 960, height: TOP + BOTTOM + ROW * shown.length, marginLeft: LABELS, marginRight: 48 },
      ...{ marginTop: TOP, marginBottom: BOTTOM },
      style: { fontSize: '12px' },
      x: { axis: null, domain: [0, 1] },
      y: { domain: shown.map(({ title }) => title), label: null, padding: 0.28 },
      fx: { domain: ways.map((way) => NAMES[way]), label: null, padding: 0.36 },
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
