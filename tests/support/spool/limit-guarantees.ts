/** Guarantees of every spool for the rate limits that replicas share. */

import { describe, expect, it } from 'vitest'
import type { SharedLimit, Spool } from '../../../tunnel/src/spool/spool.ts'
import { OTHER_PROJECT, PROJECT } from './entries.ts'
import type { Store } from './guarantees.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

export function limitOf(parts: Partial<SharedLimit> = {}): SharedLimit {
  return { project: PROJECT, category: 'error', until: Date.now() + MINUTE, ...parts }
}

export function limitPromises(current: () => { store: Store; spool: Spool }): void {
  const spool = () => current().spool
  const another = () => current().store.spool()

  describe('shares rate limits:', () => {
    it('returns none before one is added', async () => {
      expect(await spool().limits()).toEqual([])
    })

    it('returns to each replica what another one added', async () => {
      const other = await another()
      const limits = [limitOf(), limitOf({ category: 'all' }), limitOf({ project: OTHER_PROJECT })]
      await spool().addLimits(limits)
      expect(sorted(await other.limits())).toEqual(sorted(limits))
      expect(sorted(await spool().limits())).toEqual(sorted(limits))
    })

    it('returns them after all replicas were closed', async () => {
      const limit = limitOf()
      await spool().addLimits([limit])
      await current().store.closeAll()
      expect(await (await another()).limits()).toEqual([limit])
    })

    it('keeps the later of two ends, in either order', async () => {
      const other = await another()
      const [longer, shorter] = [limitOf({ until: Date.now() + 2 * MINUTE }), limitOf()]
      for (const limits of [[longer], [shorter]]) await other.addLimits(limits)
      expect(await spool().limits()).toEqual([longer])
      const longest = limitOf({ until: Date.now() + 3 * MINUTE })
      await other.addLimits([longest])
      expect(await spool().limits()).toEqual([longest])
    })

    it('keeps every limit that several replicas add at the same time', async () => {
      const replicas = await Promise.all([another(), another(), another()])
      const limits = Array.from({ length: 12 }, (_, n) => limitOf({ project: `${PROJECT}${n}` }))
      await Promise.all(limits.map((limit, n) => (replicas[n % 3] ?? spool()).addLimits([limit])))
      expect(sorted(await spool().limits())).toEqual(sorted(limits))
    })

    it('returns none that has ended, or that ends after more than a day', async () => {
      const limits = [limitOf({ until: Date.now() - 1 }), limitOf({ until: Date.now() + DAY + MINUTE })]
      for (const limit of limits) await spool().addLimits([limit])
      expect(await (await another()).limits()).toEqual([])
    })

    it('replaces a limit that ends after more than a day', async () => {
      await spool().addLimits([limitOf({ until: Date.now() + 2 * DAY })])
      const limit = limitOf()
      await (await another()).addLimits([limit])
      expect(await spool().limits()).toEqual([limit])
    })

    it('keeps 1,000 of them', async () => {
      const limits = Array.from({ length: 1_200 }, (_, n) => limitOf({ project: `${PROJECT}${n}` }))
      for (const part of [limits.slice(0, 600), limits.slice(600)]) await spool().addLimits(part)
      expect(await spool().limits()).toHaveLength(1_000)
    })

    it('counts no limit as an entry', async () => {
      await spool().addLimits([limitOf()])
      expect(await spool().totals()).toMatchObject({ envelopes: 0, partitions: [] })
    })
  })
}

function sorted(limits: SharedLimit[]): SharedLimit[] {
  const nameOf = ({ project, category }: SharedLimit) => `${project} ${category}`
  return limits.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
}
