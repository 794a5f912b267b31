/** Erasure of a user from a store that two tunnels share: pending, declined and kept envelopes. */

import { describe, expect, it } from 'vitest'
import type { EraseRequest, StoreErased } from '../../../contract/store.ts'
import { envelopeOf } from '../../support/envelopes.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { STORE_NAMES, STORES } from '../../support/spool/shared-stores.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

const JANE = 'jane@shop.example'
const MANY = 130 // more than one step

for (const [name, requirement] of STORE_NAMES)
  describe(`Erasure from a ${name}`, requirement, () => {
    it('removes the pending, declined and kept envelopes of one user, and no others', async () => {
      await using sentry = await startSentry()
      await using store = await STORES[name]()
      const env = { SENTRY_DSN: sentry.dsn(), SPOOL_URL: store.url, KEEP_HOURS: '1' }
      await using tunnel = await openTunnel({ env })
      await using other = await openTunnel({ env })
      let made = 0
      const send = async (user: object, outcome?: 'spooled') => {
        const event_id = (++made).toString(16).padStart(32, '0')
        const payload = JSON.stringify({ message: `No. ${made} of ${JANE}`, user })
        const header = { dsn: sentry.dsn(), event_id }
        const body = envelopeOf(header, [{ header: { type: 'event' }, payload }])
        const answer = await post(tunnel.url, { body })
        expect([answer.status, answer.outcome]).toEqual([200, outcome])
      }
      await send({ email: JANE })
      await send({ email: 'joe@shop.example' })
      sentry.answer({ status: 400, body: { detail: 'no', causes: [] } })
      await post(tunnel.url, {
        body: envelopeOf({ dsn: sentry.dsn(), event_id: 'f'.repeat(32) }, [
          { header: { type: 'event' }, payload: JSON.stringify({ user: { email: JANE } }) },
        ]),
      })
      await expect.poll(() => count(other, 'declined')).toBe(1)
      await expect.poll(() => count(other, 'kept')).toBe(2)
      await sentry.away()
      for (let n = 0; n < MANY; n++) await send({ id: `user-${n}` }, 'spooled')
      await send({ id: 7, email: JANE.toUpperCase() }, 'spooled')

      const all = { matched: 3, searched: MANY + 4, unread: 0 }
      expect(await erase(other, { user: JANE, dry_run: true })).toEqual({ ...all, erased: 0 })
      expect(await count(other, 'pending')).toBe(MANY + 1)
      expect(await erase(other, { user: ` ${JANE} ` })).toEqual({ ...all, erased: 3 })
      expect(await erase(tunnel, { user: JANE })).toEqual({
        ...{ matched: 0, erased: 0, unread: 0 },
        searched: MANY + 1,
      })
      expect(await Promise.all(['pending', 'declined', 'kept'].map((state) => count(other, state)))).toEqual([
        ...[MANY, 0, 1],
      ])
      const logged = () => JSON.stringify(other.logs).toLowerCase()
      await expect.poll(logged).toContain('store-erase') // the log is written later
      expect(logged()).not.toContain(JANE)
    })
  })

/** Runs all steps, and returns the sums. */
async function erase(tunnel: Tunnel, order: EraseRequest) {
  const sum = { searched: 0, matched: 0, erased: 0, unread: 0 }
  for (let after: string | undefined; ; ) {
    const { status, json } = await post(tunnel.adminUrl, {
      path: '/store/erase',
      headers: { authorization: `Bearer ${tunnel.token}` },
      body: Buffer.from(JSON.stringify({ ...order, ...(after && { after }) })),
    })
    expect(status).toBe(200)
    const { next, ...step } = json as StoreErased
    for (const key of ['searched', 'matched', 'erased', 'unread'] as const) sum[key] += step[key]
    if (next === undefined) return sum
    after = next
  }
}

/** Counts the entries of a state whose body is stored. */
async function count(tunnel: Tunnel, state: string): Promise<number> {
  const { entries } = await (await tunnel.admin(`/store/entries?limit=200&state=${state}`)).json()
  return entries.length
}
