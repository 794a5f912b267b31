/** Two tunnels that share a spool, and the rate limits of Sentry with it. */

import { describe, expect, it } from 'vitest'
import { EVENT_ID, envelopeOf, errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { STORE_NAMES, STORES } from '../../support/spool/shared-stores.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

describe.each(STORE_NAMES)('Two tunnels on one %s', (name, requirement) => {
  it('learn a limit from one request, and forward the other categories', requirement, async () => {
    await using store = await STORES[name]()
    await using sentry = await startSentry()
    const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: store.url }
    await using first = await openTunnel({ env })
    await using second = await openTunnel({ env })
    sentry.once('limiting')

    expect(await post(first.url, { body: errorOf(sentry.dsn()) })).toMatchObject({ status: 429 })
    await expect.poll(() => limitsOf(second)).toEqual(await limitsOf(first))
    expect(await limitsOf(first)).toEqual([expect.objectContaining({ category: 'error' })])

    const limited = await post(second.url, { body: errorOf(sentry.dsn()) })
    expect(limited).toMatchObject({ status: 429, json: { code: 'rate-limited' } })
    expect(limited.headers['x-sentry-rate-limits']).toMatch(/^\d+:error:key:tunnel$/)
    expect(await post(second.url, { body: sessionOf(sentry.dsn()) })).toMatchObject({ status: 200 })
    expect(sentry.requests.map(({ items }) => items.map(({ header }) => header.type))).toEqual([
      ['event'],
      ['session'],
    ])
  })
})

async function limitsOf(tunnel: Tunnel): Promise<unknown> {
  return (await (await tunnel.admin('/status')).json()).limits
}

function sessionOf(dsn: string): Buffer {
  const payload = JSON.stringify({ sid: EVENT_ID, init: true, status: 'ok' })
  return envelopeOf({ dsn }, [{ header: { type: 'session', length: payload.length }, payload }])
}
