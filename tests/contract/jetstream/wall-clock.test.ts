/** Replica whose clock is wrong: the times in the streams are those of the server. */

import { describe, expect } from 'vitest'
import { it } from '../../support/nats/fixtures.ts'
import { requires } from '../../support/requirements.ts'
import { ALL, PLENTY } from '../../support/spool/entries.ts'
import { openSpoolOn } from '../../support/spool/jetstream-spool.ts'
import { keysOf, putOne, store, takeAll } from '../../support/spool/operations.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
const TOLERANCE_MS = 5 * 60_000 // entries of the tests are some minutes old

describe('Beside replicas on NATS with the right time', requires('nats'), () => {
  it.for([25, -2, -25])(
    'one whose clock is %i hours wrong expires nothing early',
    async (hours, { nats }) => {
      const wrongNow = () => Date.now() + hours * HOUR_MS
      const right = await openSpoolOn(nats)
      const wrong = await openSpoolOn(nats, PLENTY, wrongNow)
      const keys = keysOf([await store(right), await store(right)])
      const { entry } = await putOne(wrong, { received: wrongNow() })
      expect(await wrong.expire(wrongNow() - DAY_MS)).toEqual([])
      expect(await right.expire(Date.now() - DAY_MS)).toEqual([])
      const listed = await right.list({ order: 'oldest', limit: 10 })
      expect(keysOf(listed).sort()).toEqual([...keys, entry.key].sort())
      for (const { received } of listed) expect(Math.abs(received - Date.now())).toBeLessThan(TOLERANCE_MS)
      await Promise.all([right.close(), wrong.close()])
    },
  )

  it.for([25, -2])(
    'one whose clock is %i hours wrong leases and postpones as they do',
    async (hours, { nats }) => {
      const wrongNow = () => Date.now() + hours * HOUR_MS
      const right = await openSpoolOn(nats)
      const wrong = await openSpoolOn(nats, PLENTY, wrongNow)
      const { key } = await store(right)
      const [lease] = await takeAll(wrong, 1)
      if (!lease) throw new Error('nothing was taken')
      expect(Math.abs(lease.until - wrongNow())).toBeLessThan(TOLERANCE_MS)
      expect(await right.take(1, 1_000, ALL)).toEqual([])
      await wrong.postpone(lease, wrongNow() + 100)
      expect(keysOf(await takeAll(right, 1))).toEqual([key])
      await Promise.all([right.close(), wrong.close()])
    },
  )

  it.for([25, -2])('one whose clock is %i hours wrong knows by how much', async (hours, { nats }) => {
    const right = await openSpoolOn(nats)
    const wrong = await openSpoolOn(nats, PLENTY, () => Date.now() + hours * HOUR_MS)
    expect(right.state.clockOffsetMs()).toBe(0)
    expect(Math.abs(wrong.state.clockOffsetMs() + hours * HOUR_MS)).toBeLessThan(TOLERANCE_MS)
    await Promise.all([right.close(), wrong.close()])
  })

  it.for([25, -2])(
    'one whose clock is %i hours wrong lists and resends ended entries as they do',
    async (hours, { nats }) => {
      const wrongNow = () => Date.now() + hours * HOUR_MS
      const right = await openSpoolOn(nats)
      const wrong = await openSpoolOn(nats, PLENTY, wrongNow)
      const { key } = await store(right)
      for (const lease of await takeAll(wrong, 1)) await wrong.finish(lease, { state: 'declined' })
      for (const [spool, now] of [[right, Date.now()] as const, [wrong, wrongNow()] as const]) {
        const near = { from: now - TOLERANCE_MS, to: now + TOLERANCE_MS }
        const [found, ...others] = await spool.entries.list(near, { limit: 10 })
        expect(others).toEqual([])
        expect(found?.key).toBe(key)
        for (const time of [found?.ended, found?.received])
          expect(Math.abs(Number(time) - now)).toBeLessThan(TOLERANCE_MS)
        expect(await spool.entries.list({ from: near.to }, { limit: 10 })).toEqual([])
      }
      expect((await wrong.entries.resend({ notResentSince: wrongNow() }, 1)).entries).toHaveLength(1)
      const [lease] = await takeAll(right, 1)
      expect(Math.abs(Number(lease?.resent) - Date.now())).toBeLessThan(TOLERANCE_MS)
      await Promise.all([right.close(), wrong.close()])
    },
  )
})
