/** Guarantees of every spool for the values that replicas share. */

import { describe, expect, it } from 'vitest'
import { SharedMap } from '../../../tunnel/src/pipeline/shared-state.ts'
import type { Spool } from '../../../tunnel/src/pipeline/spool.ts'
import { QuotaSharing } from '../../../tunnel/src/policy/quota/quota-sharing.ts'
import { Quotas } from '../../../tunnel/src/policy/quota/quotas.ts'
import { envelopeWith } from '../read-envelope.ts'
import type { Store } from './guarantees.ts'

export function valuePromises(current: () => { store: Store; spool: Spool }): void {
  const values = () => current().spool.state
  const another = async () => (await current().store.spool()).state

  describe('shares values:', () => {
    it('returns none before one is stored', async () => {
      expect(await values().get('a')).toEqual({ value: undefined, revision: 0 })
    })

    it('returns to each replica what another one stored, each key for itself', async () => {
      const other = await another()
      expect(await values().put('a', '{"n":1}', 0)).toBe(true)
      expect(await other.get('a')).toEqual({ value: '{"n":1}', revision: expect.any(Number) })
      expect(await other.get('b')).toMatchObject({ value: undefined })
    })

    it('replaces only the value of the given revision', async () => {
      const other = await another()
      await values().put('a', '1', 0)
      const { revision } = await other.get('a')
      expect(await other.put('a', 'too early', 0)).toBe(false)
      expect(await other.put('a', '2', revision)).toBe(true)
      expect(await values().put('a', 'too late', revision)).toBe(false)
      expect(await values().get('a')).toMatchObject({ value: '2' })
    })

    it('stores one of several values that replicas put at the same time', async () => {
      const replicas = await Promise.all([another(), another(), another()])
      const stored = await Promise.all(replicas.map((each, n) => each.put('a', String(n), 0)))
      expect(stored.filter(Boolean)).toHaveLength(1)
      expect(await values().get('a')).toMatchObject({ value: String(stored.indexOf(true)) })
    })

    it('keeps the entries of a map that replicas merge at the same time', async () => {
      const now = () => Date.now()
      const open = async () => new SharedMap({ state: await another(), key: 'map', maxMs: 60_000, now })
      const maps = await Promise.all([open(), open(), open()])
      const until = now() + 30_000
      await Promise.all(maps.map((map, n) => map.merge(new Map([[`r${n}`, { value: `${n}`, until }]]))))
      const entries = [...(await (await open()).read())].map(([name, { value }]) => [name, value])
      expect(entries.sort()).toEqual([
        ['r0', '0'],
        ['r1', '1'],
        ['r2', '2'],
      ])
    })

    it('adds up the use of quotas that replicas count at the same time, and keeps it', async () => {
      const now = () => Date.now()
      const open = async (replica: string) => {
        const deps = { now, onRemoved: () => {} }
        const limits = { day: [{ category: 'error', limit: 2_000 }], hour: [] }
        const quotas = new Quotas({ limits, mode: 'enforce' }, deps)
        const logger = { warn: () => {}, info: () => {} }
        const sharing = new QuotaSharing({ state: await another(), quotas, replica, now, logger })
        return { sharing, quotas }
      }
      const replicas = await Promise.all(['a', 'b', 'c'].map(open))
      for (let round = 0; round < 5; round++) {
        for (const { quotas } of replicas)
          for (let n = 0; n < 100; n++) quotas.charge({ project: 'p/1', network: '' }, envelopeWith('event'))
        await Promise.all(replicas.map(({ sharing }) => sharing.exchange()))
      }
      for (const { sharing } of replicas) await sharing.exchange()
      await current().store.closeAll()
      const next = await open('d')
      await next.sharing.exchange()
      expect(next.quotas.describe(['p/1'])).toMatchObject([{ used: 1_500 }])
    })

    it('counts no value as an entry', async () => {
      await values().put('a', '1', 0)
      expect(await current().spool.totals()).toMatchObject({ envelopes: 0, partitions: [] })
    })

    it('returns them after all replicas were closed', async () => {
      await values().put('a', '1', 0)
      await current().store.closeAll()
      expect(await (await another()).get('a')).toMatchObject({ value: '1' })
    })
  })
}
