/** Job that sends dead letters again, whose tunnel is killed: another one takes over, and every envelope arrives. */

import { describe, expect, it } from 'vitest'
import type { ResendStarted, ResendStatus, StorePage } from '../../../contract/store.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { STORE_NAMES, STORES } from '../../support/spool/shared-stores.ts'
import { startTunnel, type Tunnel } from '../../support/tunnel/tunnel.ts'

const MANY = 100
const IN_TIME = { timeout: 60_000 }

// Both wait for pauses of the job.
describe.each(STORE_NAMES)('Tunnels on one %s', { concurrent: true }, (name, requirement) => {
  it('send every dead letter again when the one that does it is killed', {
    timeout: 180_000,
    ...requirement,
  }, async ({ expect }) => {
    await using store = await STORES[name]()
    await using sentry = await startSentry()
    sentry.allowAborts()
    const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: store.url }
    await using killed = await startTunnel({ env })
    const ids = Array.from({ length: MANY }, (_, n) => (n + 1).toString(16).padStart(32, '0'))
    await sentry.away()
    await Promise.all(ids.map((event_id) => post(killed.url, { body: errorOf(sentry.dsn(), { event_id }) })))
    sentry.answer({ status: 403, body: { detail: 'bad key' } })
    await sentry.back()
    const first = (await (await killed.admin('/store/entries?state=pending')).json()) as StorePage
    expect(first.entries.length).toBeGreaterThan(0)
    const matching = (tunnel: Tunnel) => resend(tunnel, { state: 'declined', dry_run: true })
    await expect.poll(async () => (await matching(killed)).entries, IN_TIME).toBe(MANY)

    sentry.answer({})
    const before = sentry.requests.length
    await resend(killed, { state: 'declined' })
    await expect.poll(async () => (await jobOf(killed))?.sent, IN_TIME).toBeGreaterThan(0)
    await killed.kill()
    expect(sentry.requests.length - before).toBeLessThan(MANY)

    await using successor = await startTunnel({ env })
    await expect.poll(async () => (await jobOf(successor))?.finished, IN_TIME).toBeGreaterThan(0)
    const arrived = () => new Set(sentry.requests.slice(before).map(({ header }) => header.event_id))
    await expect.poll(() => arrived().size, IN_TIME).toBe(MANY)
    expect([...arrived()].sort()).toEqual(ids)
    expect((await matching(successor)).entries).toBe(0)
  })
})

async function resend(tunnel: Tunnel, order: object): Promise<ResendStarted> {
  const response = await tunnel.admin('/store/resend', {
    ...{ method: 'POST', body: JSON.stringify(order) },
    headers: { authorization: `Bearer ${tunnel.token}` },
  })
  expect(response.status).toBe(200)
  return (await response.json()) as ResendStarted
}

async function jobOf(tunnel: Tunnel): Promise<ResendStatus['job']> {
  return ((await (await tunnel.admin('/store/resend')).json()) as ResendStatus).job
}
