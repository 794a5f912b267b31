/** Envelopes that a simulated outage has left, after `SENTRY_DSN` is set. */

import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { type Sentry, startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const HOUR_MS = 3_600_000
const EVENTS = ['1', '2'].map((digit) => digit.repeat(32))

describe('Envelopes that a simulated outage has left', () => {
  let started: AsyncDisposableStack
  let sentry: Sentry
  let file: string

  beforeEach(async () => {
    started = new AsyncDisposableStack()
    sentry = started.use(await startSentry())
    file = join(started.use(await makeFolder()).path, 'inbox.db')
    await using tunnel = await openTunnel({ env: { INBOX_FILE: file } })
    expect((await tunnel.admin('/inbox/outage', { method: 'POST' })).status).toBe(200)
    for (const event_id of EVENTS)
      expect((await post(tunnel.url, { body: errorOf(INBOX_DSN, { event_id }) })).outcome).toBe('spooled')
  })

  afterEach(() => started.disposeAsync())

  const open = async (env: Record<string, string> = {}) =>
    started.use(await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), INBOX_FILE: file, ...env } }))

  const warnings = async (tunnel: Tunnel) => (await (await tunnel.admin('/status')).json()).warnings

  it('are delivered to the inbox with INBOX=on, and not to Sentry', async () => {
    const tunnel = await open({ INBOX: 'on' })
    await tunnel.log(({ msg }) => msg === 'the inbox gets envelopes of a simulated outage')
    expect(await warnings(tunnel)).toEqual([])
    tunnel.advanceTime(60_000) // the outage is over
    const events = async () => {
      const { entries } = await (await tunnel.admin('/inbox')).json()
      return entries.map((entry: { event_id: string }) => entry.event_id).sort()
    }
    await expect.poll(events).toEqual(EVENTS)
    expect(sentry.requests).toEqual([])
  })

  it('wait without an inbox, with a remedy in the log and the status, and expire after SPOOL_HOURS', async () => {
    const tunnel = await open({ SPOOL_HOURS: '2' })
    const remedy = 'set INBOX=on and restart. Otherwise they expire after SPOOL_HOURS'
    expect(await tunnel.log(({ msg }) => String(msg).includes(remedy))).toMatchObject({ envelopes: 2 })
    const left = 'A simulated outage has left 2 envelopes in '
    expect(await warnings(tunnel)).toEqual([expect.stringMatching(`^${left}.*${remedy}`)])
    tunnel.advanceTime(3 * HOUR_MS)
    tunnel.advanceClock(3 * HOUR_MS)
    const { counters } = tunnel.services
    await expect.poll(() => counters.figures().final_outcomes).toEqual({ expired: 2 })
    expect(await warnings(tunnel)).toEqual([])
    expect(sentry.requests).toEqual([])
  })

  it('reach the inbox after SENTRY_DSN is removed again', async () => {
    await using forwarding = await open()
    await forwarding.stop()
    const tunnel = started.use(await openTunnel({ env: { INBOX_FILE: file } }))
    tunnel.advanceTime(60_000)
    await expect
      .poll(async () => (await (await tunnel.admin('/inbox')).json()).entries)
      .toHaveLength(EVENTS.length)
  })
})
