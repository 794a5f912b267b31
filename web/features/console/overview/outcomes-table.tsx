/** Counts of envelopes by outcome and of spooled envelopes by final outcome since the replicas started. */

import { formatCount, formatPercent } from '../../../lib/format.ts'
import { OutcomeLabel } from '../../../ui/outcome-badge.tsx'
import { Panel } from '../../../ui/panel.tsx'
import type { OverviewSnapshot } from '../monitor/snapshot.ts'
import { FINAL_OUTCOMES, MEANINGS, OUTCOMES } from '../outcomes.ts'

export function OutcomesTable({ glance: { point, spools } }: { glance: OverviewSnapshot }) {
  const { answers, ends } = point
  const all = Object.values(answers).reduce((sum, count) => sum + count, 0)
  return (
    <Panel title="Outcomes" note="since the replicas started">
      <table aria-label="Envelopes by outcome" className="w-full text-note">
        <tbody>
          {OUTCOMES.map((outcome) => (
            <tr key={outcome} className="border-t border-line first:border-t-0">
              <th scope="row" className="py-1.5 text-left font-normal" title={MEANINGS[outcome]}>
                <a href={`/console/live-feed?outcome=${outcome}`} className="no-underline hover:underline">
                  <OutcomeLabel outcome={outcome} />
                </a>
              </th>
              <td className="text-right tabular-nums">{formatCount(answers[outcome] ?? 0)}</td>
              <td className="w-20 text-right text-quiet tabular-nums">
                {(answers[outcome] ?? 0) > 0 && formatPercent((answers[outcome] ?? 0) / all)}
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr className="border-t-2 border-line font-semibold">
            <th scope="row" className="py-1.5 text-left">
              all envelopes
            </th>
            <td className="text-right tabular-nums">{formatCount(all)}</td>
            <td />
          </tr>
        </tfoot>
      </table>
      {(spools.length > 0 || Object.keys(ends).length > 0) && (
        <>
          <h3 className="mt-5 mb-1 text-note font-semibold">Spooled envelopes: final outcome</h3>
          <table aria-label="Spooled envelopes by final outcome" className="w-full text-note">
            <tbody>
              {FINAL_OUTCOMES.map((end) => (
                <tr key={end} className="border-t border-line first:border-t-0">
                  <th scope="row" className="py-1 text-left font-normal" title={MEANINGS[end]}>
                    <OutcomeLabel outcome={end} />
                  </th>
                  <td className="text-right tabular-nums">{formatCount(ends[end] ?? 0)}</td>
                  <td className="w-20" />
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </Panel>
  )
}
