/** Example of what scrubbing would change, from the inbox. */

import { describe, expect, it, vi } from 'vitest'
import { INBOX_DSN } from '../../../contract/dsn.ts'
import type { ScrubExample } from '../../../contract/policies.ts'
import { purgeKept } from '../../../tunnel/src/admin/stored-entries.ts'
import { envelopeOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const OBSERVE = { SCRUB: 'default observe' }
const PLAIN = { message: 'hello' }

async function send(tunnel: Tunnel, event: object, dsn = INBOX_DSN): Promise<void> {
  const body = envelopeOf({ dsn }, [{ header: { type: 'event' }, payload: JSON.stringify(event) }])
  expect((await post(tunnel.url, { body })).status).toBe(200)
}

async function exampleOf(events: readonly object[], env: Record<string, string> = OBSERVE) {
  await using tunnel = await openTunnel({ env })
  for (const event of events) await send(tunnel, event)
  return (await (await tunnel.admin('/policies/example')).json()) as ScrubExample
}

describe('GET /policies/example', () => {
  it('returns the changed values of the newest envelope that scrubbing would change', async () => {
    const secret = { message: 'mail of jane@mail.example', extra: { token: { a: 1 }, n: 1 } }
    expect(await exampleOf([{ message: 'old@mail.example' }, secret, PLAIN])).toEqual({
      searched: 2,
      entry: { id: expect.any(String), time: expect.any(Number), title: 'mail of jane@mail.example' },
      changes: [
        {
          ...{ item: 'event', path: 'message', rule: '@email:replace' },
          ...{ before: 'mail of jane@mail.example', after: 'mail of [email]' },
        },
        { item: 'event', path: 'extra.token', before: '{"a":1}', after: 'null', rule: '@password:filter' },
      ],
      total: 2,
    })
  })

  it('returns no entry when scrubbing would change none', async () => {
    expect(await exampleOf([PLAIN])).toEqual({ searched: 1, changes: [], total: 0 })
  })

  it('searches 50 envelopes at most', async () => {
    const events = [{ message: 'jane@mail.example' }, ...Array(50).fill(PLAIN)]
    expect(await exampleOf(events)).toEqual({ searched: 50, changes: [], total: 0 })
  })

  it('skips envelopes above 128 KiB', async () => {
    const large = { message: 'jane@mail.example', extra: { text: 'x'.repeat(128 * 1024) } }
    expect(await exampleOf([large])).toEqual({ searched: 1, changes: [], total: 0 })
  })

  it('returns 50 values of 300 characters at most', async () => {
    const long = `${'x'.repeat(1000)} jane@mail.example ${'y'.repeat(1000)}`
    const { changes, total } = await exampleOf([
      { extra: Object.fromEntries(Array(60).fill(long).entries()) },
    ])
    expect([changes.length, total]).toEqual([50, 60])
    for (const { before, after } of changes) {
      expect([before.length, after.length]).toEqual([300, 300])
      expect(before).toMatch(/^…x+ jane@mail.example y+…$/)
      expect(after).toMatch(/^…x+ \[email\] y+…$/)
    }
  })

  it('reads an envelope once, however often it is asked', async () => {
    await using tunnel = await openTunnel({ env: OBSERVE })
    await send(tunnel, PLAIN)
    const read = vi.spyOn(tunnel.services.forwarding.spool.store.entries, 'read')
    for (let n = 0; n < 3; n++) expect((await tunnel.admin('/policies/example')).status).toBe(200)
    expect(read).toHaveBeenCalledTimes(1)
  })

  it('returns no envelope that was deleted', async () => {
    await using tunnel = await openTunnel({ env: OBSERVE })
    await send(tunnel, { message: 'jane@mail.example' })
    const read = async () => (await (await tunnel.admin('/policies/example')).json()) as ScrubExample
    expect((await read()).total).toBe(1)
    await purgeKept(tunnel.services.forwarding.spool.store)
    expect(await read()).toEqual({ searched: 0, changes: [], total: 0 })
  })

  it('counts nothing, and records the reading once while the envelope stays the same', async () => {
    await using tunnel = await openTunnel({ env: OBSERVE })
    await send(tunnel, { message: 'jane@mail.example' })
    const hits = () => tunnel.services.counters.figures().rules
    expect(hits()).toEqual({ 'scrub:@email:replace': 1 })
    const first = (await (await tunnel.admin('/policies/example')).json()) as ScrubExample
    await tunnel.admin('/policies/example')
    await send(tunnel, { message: 'jill@mail.example' })
    const second = (await (await tunnel.admin('/policies/example')).json()) as ScrubExample
    await tunnel.log(({ audit }) => (audit as { id?: string } | undefined)?.id === second.entry?.id)
    expect(tunnel.logs.flatMap(({ audit }) => audit ?? [])).toMatchObject([
      { action: 'policy-example', id: first.entry?.id },
      { action: 'policy-example', id: second.entry?.id },
    ])
    expect(hits()).toEqual({ 'scrub:@email:replace': 2 })
  })

  it.each([
    [{}, 'Set SCRUB to default observe'],
    [{ SCRUB: 'default' }, 'Set SCRUB to default observe'],
  ])('returns 404 with %j, and says what to set', async (env, detail) => {
    expect(await exampleOf([], env)).toEqual({ detail: expect.stringContaining(detail) })
  })

  it('returns 404 without an inbox', async () => {
    await using sentry = await startSentry()
    expect(await exampleOf([], { ...OBSERVE, SENTRY_DSN: sentry.dsn() })).toEqual({
      detail: expect.stringContaining('Set KEEP_HOURS'),
    })
  })
})
