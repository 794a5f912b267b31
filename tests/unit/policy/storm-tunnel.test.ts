/** Storm protection in a tunnel: what senders, Sentry and operators get. */

import { describe, expect, it } from 'vitest'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'

const SENT = 5

async function sendSome(env: Record<string, string>) {
  await using sentry = await startSentry()
  await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), ...env } })
  tunnel.advanceTime(60_000 - (Date.now() % 60_000)) // all errors arrive in one minute
  const statuses: number[] = []
  for (let i = 0; i < SENT; i++)
    statuses.push((await post(tunnel.url, { body: errorOf(sentry.dsn(), { n: i }) })).status)
  await tunnel.services.reports.flush()
  const forwarded = sentry.requests.map(({ items }) => items.map(({ header }) => header.type).join())
  const reports = sentry.requests
    .flatMap(({ items }) => items)
    .filter(({ header }) => header.type === 'client_report')
    .map(({ payload }) => JSON.parse(String(payload)))
  return { statuses, forwarded, reports, metrics: await tunnel.services.metrics.expose() }
}

describe('STORM_LIMIT', () => {
  it('with enforce filters the errors beyond it, and tells Sentry their number', async () => {
    const { statuses, forwarded, reports, metrics } = await sendSome({
      STORM_LIMIT: '2 enforce',
    })
    expect(statuses).toEqual(Array(SENT).fill(200))
    expect(forwarded).toEqual(['event', 'event', 'client_report'])
    expect(reports).toMatchObject([
      { filtered_events: [{ reason: 'storm', category: 'error', quantity: 3 }] },
    ])
    expect(metrics).toMatch(/culvert_envelopes_total\{outcome="filtered",reason="storm",.*\} 3/)
    expect(metrics).toMatch(/culvert_policy_items_total\{policy="storm",mode="enforce",.*\} 3/)
  })

  it('by default forwards every error, and counts those beyond it', async () => {
    const { forwarded, metrics } = await sendSome({ STORM_LIMIT: '2' })
    expect(forwarded).toEqual(Array(SENT).fill('event'))
    expect(metrics).toMatch(/culvert_policy_items_total\{policy="storm",mode="observe",.*\} 3/)
  })
})
