/** Sentry that accepts every envelope after 5 s: each arrives once, and senders wait no longer than in another outage. */

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { depthOf, untilQuietBooks } from '../../support/outage/accounting.ts'
import { p99, settle } from '../../support/outage/reconciliation.ts'
import { startSteadyLoad } from '../../support/outage/steady-load.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

/** Environment of the full size: SLOW_SECONDS=50 */
const SECONDS = Number(process.env.SLOW_SECONDS ?? 10)
const RATE = 100
const RESPONSE_MS = 5_000
const DEFAULTS = { UPSTREAM_LATE_MS: '2000' }
const DRAIN_MS = 60_000

describe('While Sentry responds after 5 s, a tunnel', () => {
  it(`delivers each of ${RATE} envelopes a second for ${SECONDS} s once`, { timeout: 300_000 }, async () => {
    await using sentry = await startSentry()
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: sentry.dsn(), ...DEFAULTS } })
    const tunnels = [tunnel]
    sentry.answer({ delayMs: RESPONSE_MS })
    const load = startSteadyLoad(() => [tunnel.url], sentry.dsn(), RATE)
    await sleep(SECONDS * 1_000)
    const answers = await load.end()
    const deliveredMeanwhile = sentry.requests.length
    sentry.answer({})
    const recovered = performance.now()
    await until(async () => (await depthOf(tunnels)) === 0, DRAIN_MS)
    const drainedMs = performance.now() - recovered
    await untilQuietBooks(tunnels)

    const { lost, duplicates, acknowledged, statuses } = settle(answers, sentry.requests)
    console.log(
      `${acknowledged} acknowledged (${JSON.stringify(statuses)}), p99 ${p99(answers)}, ${duplicates} arrived twice;`,
      `${deliveredMeanwhile} sent while it was slow, all ${(drainedMs / 1000).toFixed(1)} s after that`,
    )
    expect({ lost, duplicates }).toEqual({ lost: [], duplicates: 0 })
    expect(Object.keys(statuses)).toEqual(['200 spooled'])
    const took = answers.map((answer) => answer.took).sort((a, b) => a - b)
    expect(took[Math.floor(took.length * 0.99)]).toBeLessThan(RESPONSE_MS) // senders do not wait for Sentry
  })
})
