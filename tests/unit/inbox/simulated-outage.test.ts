/** Simulated outage of Sentry: envelopes wait on disk, and arrive in the inbox when it ends. */

import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import type { SimulatedOutageStatus } from '../../../contract/inbox.ts'
import { MemoryBudget } from '../../../tunnel/src/body/memory-budget.ts'
import { INBOX_BOUNDS, Inbox } from '../../../tunnel/src/inbox/inbox.ts'
import { InboxClient } from '../../../tunnel/src/inbox/inbox-client.ts'
import { InboxUpstream, inboxHeaders } from '../../../tunnel/src/inbox/inbox-upstream.ts'
import { errorOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { openInboxInThisThread } from '../../support/spool/same-thread.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

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
  let file: string

  beforeEach(async () => {
    started = new AsyncDisposableStack()
    file = join(started.use(await makeFolder()).path, 'inbox.db')
  })

  afterEach(() => started.disposeAsync())

  const open = async () => started.use(await openTunnel({ env: { INBOX_FILE: file } }))

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
    expect(await eventsIn(tunnel)).toEqual([])
    const during = await ask(tunnel, 'GET')
    expect(during).toMatchObject({ pending: 2, delivered: 0 })
    expect(during.remaining_ms).toBeGreaterThan(0)

    await ask(tunnel, 'DELETE')
    await expect.poll(() => ask(tunnel, 'GET')).toEqual({ remaining_ms: 0, pending: 0, delivered: 2 })
    expect(await eventsIn(tunnel)).toEqual([eventId(1), eventId(2)])
    expect(await sendTo(tunnel, 3)).toMatchObject({ status: 200 })
  })

  it('has the same number of pending envelopes in status, metrics and figures', async () => {
    const tunnel = await open()
    const pending = async () => {
      tunnel.advanceTime(60_000) // a minute has a snapshot, also without envelopes
      await tunnel.services.snapshots.record()
      const now = tunnel.services.now()
      const [status, metrics, { points }] = await Promise.all([
        tunnel.admin('/status').then((response) => response.json()),
        tunnel.admin('/metrics').then((response) => response.text()),
        tunnel
          .admin(`/figures?from=${now - 3_600_000}&to=${now + 1}&step=60000`)
          .then((response) => response.json()),
      ])
      const [, gauge] = /^culvert_simulated_outage_pending_envelopes (\d+)$/m.exec(metrics) ?? []
      return [status.simulated_outage.pending, Number(gauge), points.at(-1).pending]
    }
    expect(await pending()).toEqual([0, 0, 0])
    await ask(tunnel, 'POST', '?seconds=180')
    for (const n of [1, 2]) await sendTo(tunnel, n)
    expect(await pending()).toEqual([2, 2, 2])
  })

  it('keeps the time of arrival of its envelopes', async () => {
    const tunnel = await open()
    await ask(tunnel, 'POST')
    const before = Date.now()
    await sendTo(tunnel, 1)
    const after = Date.now()
    tunnel.advanceTime(60_000) // its time is over
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
    const { counters } = tunnel.services
    await expect.poll(() => counters.figures().final_outcomes).toEqual({ delivered: 1 })
  })

  it('ends after its time', async () => {
    const tunnel = await open()
    await ask(tunnel, 'POST', '?seconds=30')
    tunnel.advanceTime(30_001)
    expect(await ask(tunnel, 'GET')).toMatchObject({ remaining_ms: 0 })
    expect(await sendTo(tunnel, 1)).toMatchObject({ status: 200 })
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

  it('applies to replicas that share the inbox', async () => {
    const [one, other] = [await open(), await open()]
    await ask(one, 'POST')
    expect(await sendTo(other, 1)).toMatchObject({ status: 200, outcome: 'spooled' })
    await ask(other, 'DELETE')
    await expect.poll(() => eventsIn(one)).toEqual([eventId(1)])
  })

  it('leaves its envelopes to the next start, which delivers them', async () => {
    const before = await open()
    await ask(before, 'POST')
    await sendTo(before, 1)
    await before.stop()
    const after = await open()
    await ask(after, 'DELETE')
    await expect.poll(() => eventsIn(after)).toEqual([eventId(1)])
  })

  it('stops before the last snapshot, which counts its final outcomes, and within a limit of time', async () => {
    const tunnel = await open()
    const { outage, snapshots } = tunnel.services
    if (!outage) throw new Error('inbox mode has one')
    const stopOutage = vi.spyOn(outage, 'stop').mockReturnValue(new Promise(() => {}))
    const stopSnapshots = vi.spyOn(snapshots, 'stop')
    await tunnel.stop()
    expect(stopOutage).toHaveBeenCalledBefore(stopSnapshots)
  })

  it('lets no envelope into the inbox while it lasts', async () => {
    const inbox = started.adopt(await InboxClient.open(file, Date.now, openInboxInThisThread), (it) =>
      it.close(),
    )
    const memory = new MemoryBudget(1024 * 1024, 1024)
    const onError = (error: unknown) => Promise.reject(error)
    const upstream = new InboxUpstream({ inbox, memory, onError })
    const envelope = errorOf(INBOX_DSN)
    const outgoing = { content: () => [envelope], bytes: envelope.length, encoding: 'identity' } as const
    const headers = inboxHeaders({ receipt: { id: 'r-1', time: Date.now() }, network: '' })
    const send = () => upstream.send(undefined, outgoing, headers).final
    await inbox.outage.begin(60_000)
    expect({ isOpen: upstream.isOpen(), mayProbe: upstream.mayProbe() }).toEqual({
      isOpen: true,
      mayProbe: false,
    })
    expect(await send()).toMatchObject({ kind: 'undecided', status: 503 })
    expect(await inbox.count()).toBe(0)
    await inbox.outage.end()
    expect(await send()).toMatchObject({ kind: 'answered', reply: { status: 200 } })
    expect(await send()).toMatchObject({ kind: 'answered', reply: { status: 200 } }) // it is there already
    expect(await inbox.count()).toBe(1)
    expect(await inbox.outage.delivered()).toBe(1)
  })

  it('delivers envelopes after one read of its state has failed', async () => {
    const inbox = started.adopt(await InboxClient.open(file, Date.now, openInboxInThisThread), (it) =>
      it.close(),
    )
    const onError = vi.fn()
    const memory = new MemoryBudget(1024 * 1024, 1024)
    const upstream = new InboxUpstream({ inbox, memory, onError })
    const envelope = errorOf(INBOX_DSN)
    const outgoing = { content: () => [envelope], bytes: envelope.length, encoding: 'identity' } as const
    const headers = inboxHeaders({ receipt: { id: 'r-1', time: Date.now() }, network: '' })
    const send = () => upstream.send(undefined, outgoing, headers).final
    const failure = new Error('database is locked')
    vi.spyOn(inbox.outage, 'remainingMs').mockRejectedValueOnce(failure)
    expect(await send()).toMatchObject({ kind: 'undecided', reason: 'inbox' })
    expect(onError).toHaveBeenCalledExactlyOnceWith(failure)
    expect(await send()).toMatchObject({ kind: 'answered', reply: { status: 200 } })
    expect(memory.usedBytes()).toBe(0)
  })

  it('is over when its end is too far in the future, as a wrong clock would write it', () => {
    let now = Date.now()
    const inbox = started.adopt(new Inbox(file, INBOX_BOUNDS, () => now), (it) => it.close())
    inbox.outage.begin(60_000)
    expect(inbox.outage.remainingMs()).toBe(60_000)
    now -= 10 * 60_000
    expect(inbox.outage.remainingMs()).toBe(0)
  })

  it('is not possible with a DSN', async () => {
    const sentry = started.use(await startSentry())
    const tunnel = started.use(await openTunnel({ env: { SENTRY_DSN: sentry.dsn(), INBOX: 'on' } }))
    const response = await tunnel.admin('/inbox/outage', { method: 'POST' })
    expect(response.status).toBe(404)
    expect(await post(tunnel.url, { body: errorOf(sentry.dsn()) })).toMatchObject({ status: 200 })
  })
})
