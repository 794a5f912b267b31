/** Accounting of the tunnels: the envelopes counted as `spooled` or resent equal those with a final outcome and those pending, at any time. */

import { expect } from 'vitest'
import type { TunnelAccess } from '../tunnel/running.ts'
import { until } from '../until.ts'

type Sums = { spooled: number; ends: number }

const UNDER_WAY = 64 // attempts of one tunnel, which may be removed from the disk but not counted yet

/**
 * Checks the totals once. With `inHand` pending posts, the three totals cannot be read at one moment: the pending entries must lie between
 * the counters before and after.
 */
export async function checkBooks(tunnels: readonly TunnelAccess[], inHand: () => number): Promise<void> {
  const moving = inHand() > 0
  const before = await sumsOf(tunnels)
  const waits = await depthOf(tunnels)
  const after = await sumsOf(tunnels)
  const underWay = tunnels.length * UNDER_WAY
  expect(waits).toBeGreaterThanOrEqual(before.spooled - after.ends - underWay)
  expect(waits).toBeLessThanOrEqual(after.spooled - before.ends + (moving ? inHand() + underWay : underWay))
}

/** Checks the totals once while nothing is pending: they are equal. */
export async function checkQuietBooks(tunnels: readonly TunnelAccess[]): Promise<void> {
  const { spooled, ends } = await sumsOf(tunnels)
  expect({ ends, waits: await depthOf(tunnels), sum: spooled }).toEqual({
    ends,
    waits: spooled - ends,
    sum: spooled,
  })
}

/** Resolves when the totals are equal: an entry is removed from the disk before its final outcome is counted. */
export async function untilQuietBooks(tunnels: readonly TunnelAccess[]): Promise<void> {
  await until(() =>
    checkQuietBooks(tunnels).then(
      () => true,
      () => false,
    ),
  )
}

export async function depthOf([first]: readonly TunnelAccess[]): Promise<number> {
  if (!first) throw new Error('no tunnel')
  let metrics = ''
  await until(async () => {
    metrics = await metricsOf(first)
    return metrics.includes('\nculvert_spool_envelopes{') // missing while the spool does not respond within 1 s
  })
  return sum(metrics, /^culvert_spool_envelopes\{/)
}

/** Returns whether the breakers of all tunnels are open. */
export async function areOpen(tunnels: readonly TunnelAccess[]): Promise<boolean> {
  const all = await Promise.all(tunnels.map(metricsOf))
  return all.every((metrics) => sum(metrics, /^culvert_upstream_breaker_open\{/) === 1)
}

async function sumsOf(tunnels: readonly TunnelAccess[]): Promise<Sums> {
  const all = (await Promise.all(tunnels.map(metricsOf))).join('\n')
  return {
    spooled:
      sum(all, /^culvert_envelopes_total\{.*outcome="spooled"/) + sum(all, /^culvert_store_resent_total\{/),
    ends: sum(all, /^culvert_spool_final_outcomes_total\{/),
  }
}

async function metricsOf(tunnel: TunnelAccess): Promise<string> {
  return (await tunnel.admin('/metrics')).text()
}

function sum(metrics: string, wanted: RegExp): number {
  const values = metrics.split('\n').filter((line) => wanted.test(line))
  return values.reduce((total, line) => total + Number(line.split(' ').at(-1)), 0)
}
