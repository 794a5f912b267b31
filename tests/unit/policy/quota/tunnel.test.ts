/** Quotas in a tunnel: what senders and Sentry get, and what a restart keeps. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { envelopeOf, errorOf } from '../../../support/envelopes.ts'
import { post } from '../../../support/post.ts'
import { type Sentry, startSentry } from '../../../support/sentry/sentry.ts'
import { makeFolder } from '../../../support/temporary-folder.ts'
import { openTunnel, type Tunnel } from '../../../support/tunnel/in-process.ts'

const DAY = 24 * 60 * 60_000

/** Advances the clock to noon of tomorrow, so that no day ends during a test. */
function atNoon(tunnel: Tunnel): Tunnel {
  tunnel.advanceTime(1.5 * DAY - (tunnel.services.now() % DAY))
  return tunnel
}

describe('QUOTA', () => {
  let started: AsyncDisposableStack
  let folder: string
  let sentry: Sentry

  beforeEach(async () => {
    started = new AsyncDisposableStack()
    folder = started.use(await makeFolder()).path
    sentry = started.use(await startSentry())
  })

  afterEach(() => started.disposeAsync())

  async function open(env: Record<string, string> = {}): Promise<Tunnel> {
    const SPOOL_URL = pathToFileURL(join(folder, 'spool.db')).href
    const settings = { SENTRY_DSN: sentry.dsn(), SPOOL_URL, QUOTA: 'error=2/day', ...env }
    return started.use(atNoon(await openTunnel({ env: settings })))
  }

  let sent = 0
  const send = async (tunnel: Tunnel) => post(tunnel.url, { body: errorOf(sentry.dsn(), { n: ++sent }) })
  const statuses = async (tunnel: Tunnel, count: number) => {
    const all: number[] = []
    for (let i = 0; i < count; i++) all.push((await send(tunnel)).status)
    return all
  }
  /** Returns the use by all replicas that share the spool. */
  const used = async (tunnel: Tunnel) => {
    await tunnel.services.quotaSharing?.exchange()
    const { quotas, projects } = tunnel.services
    return quotas?.describe([projects.all[0]?.name ?? ''])[0]?.used
  }

  it('answers 429 with the category when it is used up, and tells Sentry', async () => {
    const tunnel = await open()
    expect(await statuses(tunnel, 2)).toEqual([200, 200])
    const { status, headers } = await send(tunnel)
    expect([status, headers['x-sentry-rate-limits']]).toEqual([
      429,
      expect.stringMatching(/^\d+:error:key:tunnel$/),
    ])
    const session = envelopeOf({ dsn: sentry.dsn() }, [{ header: { type: 'session' }, payload: '{}' }])
    expect((await post(tunnel.url, { body: session })).status).toBe(200)
    await tunnel.services.reports.flush()
    const report = sentry.requests.at(-1)?.items[0]?.payload
    expect(JSON.parse(String(report))).toMatchObject({
      rate_limited_events: [{ reason: 'quota', category: 'error', quantity: 1 }],
    })
    expect(await tunnel.receipt(({ reason }) => reason === 'quota')).toMatchObject({
      outcome: 'rate_limited',
    })
  })

  it('is shared by replicas, and kept over a restart', async () => {
    const [one, other] = [await open(), await open()]
    await statuses(one, 1)
    await one.services.quotaSharing?.exchange()
    await statuses(other, 1)
    await other.services.quotaSharing?.exchange()
    expect(await used(one)).toBe(2)
    expect(await statuses(one, 1)).toEqual([429])
    await Promise.all([one.stop(), other.stop()])
    const next = await open()
    await next.services.quotaSharing?.exchange() // its clock has just been set
    expect(await statuses(next, 1)).toEqual([429])
  })

  it('counts on without a spool in inbox mode', async () => {
    const tunnel = started.use(atNoon(await openTunnel({ env: { QUOTA: 'error=2/day' } })))
    const body = envelopeOf({ dsn: tunnel.services.projects.all[0]?.key }, [
      { header: { type: 'event' }, payload: '{"message":"a"}' },
    ])
    for (const status of [200, 200, 429]) expect((await post(tunnel.url, { body })).status).toBe(status)
  })
})
