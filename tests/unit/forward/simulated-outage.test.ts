/** Simulated outage of Sentry: the inbox refuses envelopes, which the spool delivers when it ends. */

import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import type { SimulatedOutageStatus } from '../../../contract/inbox.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'
import { settingsOf } from '../../support/tunnel/running.ts'

const eventId = (n: number) => String(n).repeat(32)
const sendTo = (tunnel: Tunnel, n: number) =>
  post(tunnel.url, { body: errorOf(INBOX_DSN, { event_id: eventId(n) }) })

async function ask(tunnel: Tunnel, method: string, query = ''): Promise<SimulatedOutageStatus> {
  const response = await tunnel.admin(`/inbox/outage${query}`, { method })
  expect(response.status).toBe(200)
  return response.json()
}

async function eventsIn(tunnel: Tunnel): Promise<string[]> {
  const { entries } = await (await tunnel.admin('/inbox')).json()
  return entries.map((entry: { event_id: string }) => entry.event_id).sort()
}

describe('A simulated outage', () => {
  let started: AsyncDisposableStack
  let folder: string

  beforeEach(async () => {
    started = new AsyncDisposableStack()
    folder = started.use(await makeFolder()).path
  })

  afterEach(() => started.disposeAsync())

  const open = async (env = {}) => started.use(await openTunnel({ env: { ...settingsOf(folder), ...env } }))

  it('spools envelopes, and delivers them to the inbox when it is ended', async () => {
    const tunnel = await open()
    await ask(tunnel, 'POST', '?seconds=180')
    const response = await sendTo(tunnel, 1)
    expect(response).toMatchObject({ status: 200, outcome: 'spooled' })
    expect(response.headers).not.toHaveProperty('retry-after')
    await post(tunnel.url, {
      body: gzipSync(errorOf(INBOX_DSN, { event_id: eventId(2) })),
      headers: { 'content-encoding': 'gzip' },
    })
    await tunnel.receipt(
      ({ upstream_status: status, upstream_message: message }) =>
        status === 503 && message === 'This outage is simulated.',
    )
    expect(await eventsIn(tunnel)).toEqual([])
    const during = await ask(tunnel, 'GET')
    expect(during).toMatchObject({ pending: 2, delivered: 0 })
    expect(during.remaining_ms).toBeGreaterThan(0)

    await ask(tunnel, 'DELETE')
    await tunnel.retry()
    await expect.poll(() => ask(tunnel, 'GET')).toEqual({ remaining_ms: 0, pending: 0, delivered: 2 })
    expect(await eventsIn(tunnel)).toEqual([eventId(1), eventId(2)])
    expect(await sendTo(tunnel, 3)).toMatchObject({ status: 200 })
    expect(await ask(tunnel, 'GET')).toMatchObject({ delivered: 2 })
  })

  it('opens the circuit breaker, which closes when the inbox accepts envelopes again', async () => {
    const tunnel = await open()
    await ask(tunnel, 'POST', '?seconds=180')
    for (let n = 0; n < 5; n++) await sendTo(tunnel, n)
    await tunnel.log(({ msg }) => msg === 'circuit breaker opened')
    await ask(tunnel, 'DELETE')
    await tunnel.retry()
    tunnel.advanceClock(5_000)
    await tunnel.log(({ msg }) => msg === 'circuit breaker closed')
    await expect.poll(() => ask(tunnel, 'GET')).toMatchObject({ pending: 0, delivered: 5 })
  })

  it('keeps the time of arrival of its envelopes', async () => {
    const tunnel = await open()
    await ask(tunnel, 'POST')
    const before = Date.now()
    await sendTo(tunnel, 1)
    const after = Date.now()
    tunnel.advanceTime(60_000) // its time is over
    await tunnel.retry()
    const entries = async () => (await (await tunnel.admin('/inbox')).json()).entries
    await expect.poll(entries).toHaveLength(1)
    const [{ time }] = await entries()
    expect(time).toBeGreaterThanOrEqual(before)
    expect(time).toBeLessThanOrEqual(after)
  })

  it('counts one final outcome for each spooled envelope', async () => {
    const tunnel = await open()
    await ask(tunnel, 'POST')
    await sendTo(tunnel, 1)
    await ask(tunnel, 'DELETE')
    await tunnel.retry()
    const { counters } = tunnel.services
    await expect.poll(() => counters.figures().final_outcomes).toEqual({ delivered: 1 })
  })

  it('ends after its time', async () => {
    const tunnel = await open()
    await ask(tunnel, 'POST', '?seconds=30')
    tunnel.advanceTime(30_001)
    expect(await ask(tunnel, 'GET')).toMatchObject({ remaining_ms: 0 })
    expect(await sendTo(tunnel, 1)).toMatchObject({ status: 200 })
    expect(await eventsIn(tunnel)).toEqual([eventId(1)])
  })

  it('is not prolonged, and cannot begin again until 3 minutes after its end', async () => {
    const tunnel = await open()
    await ask(tunnel, 'POST', '?seconds=30')
    tunnel.advanceTime(10_000)
    expect((await ask(tunnel, 'POST', '?seconds=180')).remaining_ms).toBeLessThanOrEqual(20_000)
    await ask(tunnel, 'DELETE')
    tunnel.advanceTime(100_000)
    await ask(tunnel, 'DELETE') // does not prolong the pause
    const early = await tunnel.admin('/inbox/outage', { method: 'POST' })
    expect(early.status).toBe(409)
    expect(await early.json()).toEqual({
      detail: 'An outage has just ended. The next one can begin 3 minutes after its end.',
    })
    tunnel.advanceTime(80_000)
    expect((await ask(tunnel, 'POST', '?seconds=30')).remaining_ms).toBeGreaterThan(0)
  })

  it('is in the audit log, but not among the changes by operators', async () => {
    const tunnel = await open()
    await ask(tunnel, 'POST')
    await ask(tunnel, 'DELETE')
    await tunnel.log(({ audit }) => (audit as { action?: string } | undefined)?.action === 'outage-end')
    const audit = tunnel.logs.flatMap((line) => line.audit ?? [])
    expect(audit).toMatchObject([{ action: 'outage-begin' }, { action: 'outage-end' }])
    expect((await (await tunnel.admin('/status')).json()).actions).toEqual([])
  })

  it('applies to replicas that share the spool, with the same counts', async () => {
    const [one, other] = [await open(), await open()]
    await ask(one, 'POST')
    expect(await sendTo(other, 1)).toMatchObject({ status: 200, outcome: 'spooled' })
    expect(await ask(one, 'GET')).toMatchObject({ pending: 1, delivered: 0 })
    await ask(other, 'DELETE')
    await one.retry()
    await expect.poll(() => ask(one, 'GET')).toEqual({ remaining_ms: 0, pending: 0, delivered: 1 })
    expect(await ask(other, 'GET')).toEqual({ remaining_ms: 0, pending: 0, delivered: 1 })
  })

  it('leaves its envelopes to the next start, which delivers them', async () => {
    const before = await open()
    await ask(before, 'POST')
    await sendTo(before, 1)
    await before.stop()
    const after = await open()
    await ask(after, 'DELETE')
    await after.retry()
    await expect.poll(() => eventsIn(after)).toEqual([eventId(1)])
  })

  it('is over when its end is too far in the future, as a wrong clock would write it', async () => {
    const tunnel = await open()
    await ask(tunnel, 'POST', '?seconds=60')
    tunnel.advanceTime(-10 * 60_000)
    expect(await ask(tunnel, 'GET')).toMatchObject({ remaining_ms: 0 })
    expect((await ask(tunnel, 'POST', '?seconds=30')).remaining_ms).toBeGreaterThan(0)
  })

  it('delivers an envelope again when the spool did not learn of its delivery', async () => {
    const tunnel = await open()
    await ask(tunnel, 'POST')
    await sendTo(tunnel, 1)
    await ask(tunnel, 'DELETE')
    const { store } = tunnel.services.forwarding.spool
    const finish = vi.spyOn(store, 'finish').mockRejectedValueOnce(new Error('the disk failed'))
    await tunnel.retry()
    await expect.poll(() => finish.mock.calls.length).toBe(1)
    const retried = async () => {
      await tunnel.retry() // it is postponed by a minute
      return eventsIn(tunnel)
    }
    await expect.poll(retried).toEqual([eventId(1)])
  })

  it('is not possible with a DSN', async () => {
    const sentry = started.use(await startSentry())
    const tunnel = await open({ SENTRY_DSN: sentry.dsn(), KEEP_HOURS: '168' })
    const response = await tunnel.admin('/inbox/outage', { method: 'POST' })
    expect(response.status).toBe(404)
    expect(await post(tunnel.url, { body: errorOf(sentry.dsn()) })).toMatchObject({ status: 200 })
  })
})

describe('Envelopes that a simulated outage has left', () => {
  it('wait for the inbox, and do not go to a Sentry that was set afterwards', async () => {
    await using folder = await makeFolder()
    await using sentry = await startSentry()
    await using before = await openTunnel({ env: settingsOf(folder.path) })
    await ask(before, 'POST')
    await sendTo(before, 1)
    await before.stop()
    await using tunnel = await openTunnel({ env: settingsOf(folder.path, { SENTRY_DSN: sentry.dsn() }) })
    await tunnel.log(({ msg }) =>
      /^The spool has 1 envelope for the inbox\. Without SENTRY_DSN/.test(msg ?? ''),
    )
    await tunnel.retry()
    expect(sentry.requests).toEqual([])
  })
})
