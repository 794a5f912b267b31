/** Two real tunnels on one NATS server: what they answered 202 while Sentry was away arrives, once. */

import { describe, expect, it } from 'vitest'
import { errorOf } from '../helpers/envelopes.ts'
import { startNats } from '../helpers/nats.ts'
import { post } from '../helpers/post.ts'
import { requires } from '../helpers/requirements.ts'
import { startSentry } from '../helpers/sentry.ts'
import { startTunnel } from '../helpers/tunnel.ts'

const MANY = 100

describe('Two tunnels on one NATS server', { ...requires('nats'), timeout: 60_000 }, () => {
  it('keep what comes while Sentry is away, and deliver each once when it is back', async () => {
    await using nats = await startNats()
    await using sentry = await startSentry()
    const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: nats.url }
    await using first = await startTunnel({ env })
    await using second = await startTunnel({ env })
    await sentry.away()
    const bodies = Array.from({ length: MANY }, (_, number) => errorOf(sentry.dsn(), { number }))
    for (const [i, body] of bodies.entries())
      expect(await post((i % 2 ? first : second).url, { body })).toMatchObject({ status: 202 })
    const spools = await Promise.all(
      [first, second].map(async (tunnel) => (await tunnel.admin('/status')).json()),
    )
    expect(spools.map(({ spool }) => spool.envelopes)).toEqual([MANY, MANY])
    expect(spools[0].spool.id).toBe(spools[1].spool.id)
    await sentry.back()
    await expect.poll(() => sentry.requests.length, { timeout: 40_000 }).toBe(MANY)
    const waits = async () => (await (await first.admin('/status')).json()).spool.envelopes
    await expect.poll(waits, { timeout: 10_000 }).toBe(0)
    const numbers = sentry.requests.map(({ header }) => header.number)
    expect(new Set(numbers).size).toBe(MANY)
  })
})
