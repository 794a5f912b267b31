/** Renders the share of reports that arrived. */

import { renderTable } from '../report/table.ts'
import type { Results, ScenarioResult } from './results.ts'
import type { SubjectName } from './subjects/subjects.ts'
import { TITLES } from './titles.ts'
import { type Totals, totalsOf } from './totals.ts'

export function drawTable({ subjects, scenarios }: Results): string {
  const shown = scenarios.filter(({ skipped }) => skipped === undefined)
  const left = scenarios.filter(({ skipped }) => skipped !== undefined)
  const names = subjects.map((subject) => TITLES[subject])
  return [
    renderTable([
      ['arrived, of those that the SDK passed to `fetch`', ...names, 'dropped by the SDK itself'],
      ...shown.map((result) => [
        result.title,
        ...subjects.map((subject) => showArrived(totalsOf(result.rounds, subject))),
        showDropped(result, subjects),
      ]),
    ]),
    ...left.map(({ title, skipped }) => `Not measured: ${title} (${skipped}).`),
  ].join('\n\n')
}

function showArrived({ arrived, sent, duplicates, unsent }: Totals): string {
  const share = sent > 0 ? `${showPercent(arrived / sent)} of ${sent}` : 'none were sent'
  const twice = duplicates > 0 ? [`${duplicates} twice`] : []
  const blocked = unsent > 0 ? [`${unsent} not sent by the browser`] : []
  return [share, ...twice, ...blocked].join(', ')
}

/** Formats a share; it rounds down, so that 100 % means all. */
export function showPercent(share: number): string {
  return `${(Math.floor(share * 1000) / 10).toString()} %`
}

function showDropped({ rounds, replays }: ScenarioResult, subjects: readonly SubjectName[]): string {
  if (replays) return ''
  const shares = subjects
    .map((subject) => totalsOf(rounds, subject))
    .map(({ raised, sent, unsent }) => 1 - (sent + unsent) / raised)
  const [least, most] = [Math.min(...shares), Math.max(...shares)].map(
    (share) => `${(share * 100).toFixed(0)} %`,
  )
  return least === most ? `${least}` : `${least} to ${most}`
}
