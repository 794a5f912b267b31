/** Envelopes that Sentry declines at once: they are stored after the response, and can be sent again once the cause is mended. */

import { describe, expect, it } from 'vitest'
import type { StorePage } from '../../../contract/store.ts'
import { errorOf } from '../../support/envelopes.ts'
import { untilQuietBooks } from '../../support/outage/accounting.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { STORE_NAMES, STORES } from '../../support/spool/shared-stores.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

const EVENT = 'd'.repeat(32)

describe.each(STORE_NAMES)('A tunnel with a %s', (name, requirement) => {
  it('keeps what Sentry declines at once, with its answer, and sends it again', requirement, async () => {
    await using store = await STORES[name]()
    await using sentry = await startSentry()
    await using tunnel = await startTunnel({ env: { SENTRY_DSN: sentry.dsn(), SPOOL_URL: store.url } })
    const declined = async () => {
      const response = await tunnel.admin(`/store/entries?state=declined&event_id=${EVENT}`)
      return ((await response.json()) as StorePage).entries
    }
    sentry.answer({ status: 403, body: { detail: 'Project is disabled' } })
    const body = errorOf(sentry.dsn(), { event_id: EVENT, number: 1 })
    expect(await post(tunnel.url, { body })).toMatchObject({ status: 403 })
    await expect.poll(declined).toHaveLength(1)
    const [entry] = await declined()
    expect(entry).toMatchObject({ status: 403, answer: '{"detail":"Project is disabled"}' })

    sentry.answer({})
    const before = sentry.requests.length
    const headers = { authorization: `Bearer ${tunnel.token}` }
    const resend = { method: 'POST', headers, body: JSON.stringify({ id: entry?.id }) }
    expect((await tunnel.admin('/store/resend', resend)).status).toBe(200)
    expect(await sentry.next(({ header }) => header.event_id === EVENT && sentry.requests.length > before))
    await expect.poll(declined).toEqual([])
    await untilQuietBooks([tunnel])
  })
})
