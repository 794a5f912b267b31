/** Silence: pages load the SDK, and no report arrives. */

import type { Figures } from '../figures.ts'

/** `loads`: of `sdk.js` since then. */
export type Silence = { since: number; minutes: number; loads: number }

/** Fewer are no sign: a few browsers may block reports, or leave at once. */
const MIN_LOADS = 20

/**
 * Returns the silence if all envelopes of browsers in the range were rejected, or there were none, although pages have loaded the SDK. Replicas have
 * to have counted since the begin of the range.
 */
export function findSilence({ from, to, step, points }: Figures): Silence | undefined {
  const [first] = points
  const hasReport = points.some(({ browser_envelopes: reports }) => reports > 0)
  if (!first || first.time > from + step || hasReport) return undefined
  const loads = points.reduce((sum, { sdk_loads }) => sum + sdk_loads, 0)
  const minutes = Math.round((to - from) / 60_000)
  return loads < MIN_LOADS ? undefined : { since: from, minutes, loads }
}
