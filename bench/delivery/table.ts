/** The tables: how many arrived, and how fast the page came meanwhile. */

import type { Outcome, Results } from './results.ts'
import type { WayName } from './subjects/ways.ts'
import { type Sum, sumOf } from './sums.ts'

export const TITLES: Record<WayName, string> = {
  direct: 'straight to Sentry',
  tunnelRoute: '`tunnelRoute`',
  handler: '`handleTunnelRequest` on Hono',
  culvert: 'Culvert',
}

export function drawTables({ ways, situations }: Results): string {
  const shown = situations.filter(({ skipped }) => skipped === undefined)
  const left = situations.filter(({ skipped }) => skipped !== undefined)
  const names = ways.map((way) => TITLES[way])
  return [
    draw([
      ['arrived, of those that the SDK handed to `fetch`', ...names, 'dropped by the SDK itself'],
      ...shown.map((outcome) => [
        outcome.title,
        ...ways.map((way) => showArrived(sumOf(outcome.rounds, way))),
        showDropped(outcome, ways),
      ]),
    ]),
    draw([
      ['the page meanwhile: p50 / p95, ms', ...names],
      ...shown.map(({ title, rounds }) => [title, ...ways.map((way) => showPage(sumOf(rounds, way)))]),
    ]),
    ...left.map(({ title, skipped }) => `Not measured: ${title} (${skipped}).`),
  ].join('\n\n')
}

export function showArrived({ arrived, handed, duplicates, refused }: Sum): string {
  const share = handed > 0 ? `${showPercent(arrived / handed)} of ${handed}` : 'none were sent'
  const twice = duplicates > 0 ? [`${duplicates} twice`] : []
  const unsent = refused > 0 ? [`${refused} refused by the browser`] : []
  return [share, ...twice, ...unsent].join(', ')
}

/** Never 100 % where one is missing. */
export function showPercent(share: number): string {
  return `${(Math.floor(share * 1000) / 10).toString()} %`
}

function showDropped({ rounds, replays }: Outcome, ways: readonly WayName[]): string {
  if (replays) return ''
  const shares = ways
    .map((way) => sumOf(rounds, way))
    .map(({ raised, handed, refused }) => 1 - (handed + refused) / raised)
  const [least, most] = [Math.min(...shares), Math.max(...shares)].map(
    (share) => `${(share * 100).toFixed(0)} %`,
  )
  return least === most ? `${least}` : `${least} to ${most}`
}

function showPage({ page: { p50, p95, failed } }: Sum): string {
  const times = `${p50.toFixed(1)} / ${p95.toFixed(0)}`
  return failed > 0 ? `${times}, ${failed} failed` : times
}

function draw([head = [], ...rows]: string[][]): string {
  const rule = head.map((_, i) => (i === 0 ? '---' : '---:'))
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
