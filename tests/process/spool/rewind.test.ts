/** Rewind of what Sentry has accepted, with `KEEP_HOURS`: each error arrives once more, with its own event ID. */

import { describe, expect, it } from 'vitest'
import type { ResendStarted, ResendStatus, StorePage } from '../../../contract/store.ts'
import { envelopeOf, errorOf } from '../../support/envelopes.ts'
import { untilQuietBooks } from '../../support/outage/accounting.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { STORE_NAMES, STORES } from '../../support/spool/shared-stores.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'

const MANY = 10
const IN_TIME = { timeout: 60_000 }

describe.each(STORE_NAMES)('A tunnel that keeps errors in a %s', (name, requirement) => {
  it('sends those of a span of time again, late ones too, and none twice within an hour', {
    timeout: 120_000,
    ...requirement,
  }, async () => {
    await using store = await STORES[name]()
    await using sentry = await startSentry()
    await using tunnel = await openTunnel({
      env: { SENTRY_DSN: sentry.dsn(), SPOOL_URL: store.url, KEEP_HOURS: '24' },
    })
    const idOf = (n: number) => n.toString(16).padStart(32, '0')
    const postError = (n: number) =>
      post(tunnel.url, { body: errorOf(sentry.dsn(), { event_id: idOf(n), number: n }) })
    const kept = async (query = '') =>
      ((await (await tunnel.admin(`/store/entries?state=kept&limit=200${query}`)).json()) as StorePage)
        .entries
    const from = Date.now()
    for (let n = 1; n <= MANY; n++) expect((await postError(n)).status).toBe(200)
    const session = envelopeOf({ dsn: sentry.dsn(), number: 0 }, [
      { header: { type: 'session' }, payload: '{"status":"ok"}' },
    ])
    await post(tunnel.url, { body: session })
    sentry.answer({ status: 503 })
    expect(await postError(MANY + 1)).toMatchObject({ outcome: 'spooled' })
    sentry.answer({})
    await expect.poll(async () => (await kept()).length, IN_TIME).toBe(MANY + 1)
    expect(await kept(`&event_id=${idOf(MANY + 1)}`)).toHaveLength(1)

    const before = sentry.requests.length
    const order = { state: 'kept', from, to: Date.now() }
    const resend = async () => {
      const headers = { authorization: `Bearer ${tunnel.token}` }
      const body = JSON.stringify(order)
      const response = await tunnel.admin('/store/resend', { method: 'POST', headers, body })
      return (await response.json()) as ResendStarted
    }
    expect((await resend()).entries).toBe(MANY + 1)
    const job = async () => ((await (await tunnel.admin('/store/resend')).json()) as ResendStatus).job
    await expect.poll(async () => (await job())?.finished, IN_TIME).toBeGreaterThan(0)
    const again = () => sentry.requests.slice(before)
    await expect.poll(() => again().length, IN_TIME).toBe(MANY + 1)
    expect(
      again()
        .map(({ header }) => header.event_id)
        .sort(),
    ).toEqual(Array.from({ length: MANY + 1 }, (_, n) => idOf(n + 1)))
    for (const { header, items } of again()) {
      const first = sentry.requests.find((each) => each.header.event_id === header.event_id)
      expect(items).toEqual(first?.items)
    }
    expect((await resend()).entries).toBe(0)
    expect(await kept()).toHaveLength(MANY + 1)
    await untilQuietBooks([tunnel])
  })
})
