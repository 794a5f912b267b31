/** The tunnels' own books: what they answered `spooled` is what has ended and what still waits, at every look. */

import { expect } from 'vitest'
import type { TunnelAccess } from '../tunnel/running.ts'
import { until } from '../until.ts'

type Sums = { spooled: number; ends: number }

const UNDER_WAY = 64 // attempts of one tunnel, gone from the disk perhaps and not yet counted as an end

/**
 * Looks once. While `inHand` posts are under way the three figures cannot be had of one moment: what waits must lie between what
 * the counters before and after it say.
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

/** Looks once while nothing is under way: the figures agree to the last. */
export async function checkQuietBooks(tunnels: readonly TunnelAccess[]): Promise<void> {
  const { spooled, ends } = await sumsOf(tunnels)
  expect({ ends, waits: await depthOf(tunnels), sum: spooled }).toEqual({
    ends,
    waits: spooled - ends,
    sum: spooled,
  })
}

export async function depthOf([first]: readonly TunnelAccess[]): Promise<number> {
  if (!first) throw new Error('no tunnel')
  let metrics = ''
  await until(async () => {
    metrics = await metricsOf(first)
    return metrics.includes('\nculvert_spool_envelopes{') // left out while the spool does not answer within a second
  })
  return sum(metrics, /^culvert_spool_envelopes\{/)
}

/** Tells whether the breakers of all tunnels are open. */
export async function areOpen(tunnels: readonly TunnelAccess[]): Promise<boolean> {
  const all = await Promise.all(tunnels.map(metricsOf))
  return all.every((metrics) => sum(metrics, /^culvert_upstream_breaker_open\{/) === 1)
}

async function sumsOf(tunnels: readonly TunnelAccess[]): Promise<Sums> {
  const all = (await Promise.all(tunnels.map(metricsOf))).join('\n')
  return {
    spooled: sum(all, /^culvert_envelopes_total\{.*outcome="spooled"/),
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
