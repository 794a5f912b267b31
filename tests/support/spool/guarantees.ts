/** Contract of every spool (`tunnel/src/pipeline/spool.ts`). `tests/contract/sqlite/guarantees.test.ts` has the guarantees of SQLite alone. */

import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { networkOf } from '../../../contract/networks.ts'
import type { Lease, Spool, SpoolBounds, SpoolEntry } from '../../../tunnel/src/pipeline/spool.ts'
import { EVENT_ID, errorOf } from '../envelopes.ts'
import { bundlePromises } from './bundle-guarantees.ts'
import { ALL, inOne, LONG_MS, OTHER_PROJECT, PROJECT, spoolEntryOf } from './entries.ts'
import { bytesOf, expectNothing, inPieces, keysOf, plain, putOne, store, takeAll } from './operations.ts'
import { operatorPromises } from './operator-guarantees.ts'
import { snapshotPromises } from './snapshot-guarantees.ts'
import { valuePromises } from './value-guarantees.ts'

/** Store with its entries; `spool` opens another replica on it. Disposing closes all replicas and deletes the store. */
export type Store = AsyncDisposable & {
  spool(): Promise<Spool>
  /** Closes every replica; the next `spool` finds the store as they left it. */
  closeAll(): Promise<void>
  /** Bytes of an entry that count towards the bound: its body and its fields. */
  weigh(entry: SpoolEntry): number
}

export type OpenStore = (bounds: SpoolBounds) => Promise<Store>

const MIB = 1024 * 1024
const ROOMY: SpoolBounds = { bytes: 1024 * MIB, addressShare: 1, projectShare: 1 }
const SHORT_MS = 1_000 // lease that ends during a test, but not before its entry can be extended or finished

export function spoolPromises(name: string, open: OpenStore): void {
  describe(`The spool on ${name}`, () => {
    let opened: Store
    let spool: Spool

    beforeEach(async () => {
      opened = await open(ROOMY)
      spool = await opened.spool()
    })

    afterEach(() => opened[Symbol.asyncDispose]())

    it('has the same ID in all replicas', async () => {
      expect((await opened.spool()).id).toBe(spool.id)
    })

    it('rejects calls after it is closed', async () => {
      await opened.closeAll()
      await expect(spool.totals()).rejects.toThrow()
      await expect(spool.take(1, LONG_MS, ALL)).rejects.toThrow()
    })

    it('stores and counts nothing for a probe', async () => {
      await spool.probe()
      expect(await spool.totals()).toMatchObject({ envelopes: 0 })
      await expectNothing(spool)
    })

    describe('keeps', () => {
      it('an entry for every replica from the moment when put resolves', async () => {
        const other = await opened.spool()
        const { entry, body } = await putOne(spool)
        const [lease] = await takeAll(other, 1)
        expect(lease && plain(lease)).toEqual(entry)
        expect(lease?.attempts).toBe(1)
        expect(lease && (await bytesOf(await other.read(lease)))).toEqual(body)
      })

      it('an entry when all replicas are closed and opened again', async () => {
        const { entry, body } = await putOne(spool)
        const id = spool.id
        await opened.closeAll()
        const again = await opened.spool()
        expect(again.id).toBe(id)
        const [lease] = await takeAll(again, 1)
        expect(lease && plain(lease)).toEqual(entry)
        expect(lease && (await bytesOf(await again.read(lease)))).toEqual(body)
        expect(await again.totals()).toMatchObject({ envelopes: 1, bytes: expect.any(Number) })
      })

      it.each([0, 1, 1000, MIB - 1, MIB, MIB + 1])('a body of %i bytes intact', async (bytes) => {
        const { body } = await putOne(spool, { bytes })
        const [lease] = await takeAll(await opened.spool(), 1)
        expect(lease && body.equals(await bytesOf(await spool.read(lease)))).toBe(true)
      })

      it.each([0, 1, 1000, MIB - 1, MIB, MIB + 1, 20 * MIB])(
        'a body of %i bytes in chunks intact, and returns it repeatedly',
        async (bytes) => {
          const body = randomBytes(bytes)
          const entry = await spoolEntryOf(body)
          expect(await spool.put(entry, inPieces(body), 0)).toMatchObject({ kind: 'stored' })
          const other = await opened.spool()
          const [lease] = await takeAll(other, 1)
          for (let i = 0; lease && i < 2; i++)
            expect(body.equals(await bytesOf(await other.read(lease)))).toBe(true)
        },
      )

      it('bytes and headers of any value', async () => {
        const body = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
        await spool.put(
          await spoolEntryOf(body, { headers: ['x', 'ü "quoted" \\ \u{1f600}'] }),
          inOne(body),
          0,
        )
        const [lease] = await takeAll(spool, 1)
        expect(lease?.headers).toEqual(['x', 'ü "quoted" \\ \u{1f600}'])
        expect(lease && (await bytesOf(await spool.read(lease)))).toEqual(body)
      })
    })

    describe('stores once', () => {
      it('the same bytes for the same upstream, from any replica', async () => {
        const { entry, body } = await putOne(spool)
        const again = { ...entry, receipt: 'another' }
        expect(await spool.put(again, inOne(body), 0)).toEqual({ kind: 'known' })
        expect(await (await opened.spool()).put(again, inOne(body), 0)).toEqual({ kind: 'known' })
        expect(keysOf(await takeAll(spool, 1))).toEqual([entry.key])
        await expectNothing(spool)
      })

      it('the same bytes that several replicas put at the same time, also a large body', async () => {
        const other = await opened.spool()
        for (const bytes of [100, 2 * MIB]) {
          const body = randomBytes(bytes)
          const entry = await spoolEntryOf(body)
          const results = await Promise.all(
            [spool, other, spool, other].map((each) => each.put(entry, inOne(body), LONG_MS)),
          )
          expect(results.map(({ kind }) => kind).sort()).toEqual(['known', 'known', 'known', 'stored'])
          const stored = results.find((result) => result.kind === 'stored')
          expect(stored && body.equals(await bytesOf(await other.read(stored.lease)))).toBe(true)
        }
      })

      it('each of five envelopes with one event_id and different bytes', async () => {
        const bodies = Array.from({ length: 5 }, (_, i) =>
          errorOf(PROJECT, { event_id: EVENT_ID, segment: i }),
        )
        for (const body of bodies)
          expect(await spool.put(await spoolEntryOf(body), inOne(body), 0)).toMatchObject({ kind: 'stored' })
        expect(await takeAll(spool, 5)).toHaveLength(5)
      })

      it('the same bytes for each of two upstreams', async () => {
        const body = randomBytes(100)
        for (const project of [PROJECT, OTHER_PROJECT])
          expect(await spool.put(await spoolEntryOf(body, { project }), inOne(body), 0)).toMatchObject({
            kind: 'stored',
          })
        expect(await takeAll(spool, 2)).toHaveLength(2)
      })
    })

    describe('leases', () => {
      it('the most important entry first, then the oldest', async () => {
        const put: SpoolEntry[] = []
        for (const category of ['replay', 'transaction', 'session', 'error', 'replay', 'session', 'error'])
          put.push(await store(spool, { category }))
        const expected = put.toSorted((a, b) => a.priority - b.priority || a.received - b.received)
        const taken = [...(await takeAll(spool, 3)), ...(await takeAll(spool, 4))]
        expect(keysOf(taken)).toEqual(keysOf(expected))
      })

      it('at most the requested number of entries', async () => {
        for (let i = 0; i < 5; i++) await store(spool)
        expect((await spool.take(3, LONG_MS, ALL)).length).toBeLessThanOrEqual(3)
      })

      it('each entry to one replica only', async () => {
        const takers = [spool, await opened.spool(), await opened.spool(), await opened.spool()]
        const keys = keysOf(await Promise.all(Array.from({ length: 200 }, () => store(spool))))
        const taken: Lease[] = []
        const takeOn = async (taker: Spool) => {
          while (taken.length < keys.length) {
            taken.push(...(await taker.take(7, LONG_MS, ALL)))
            await setImmediate() // a spool that fetches ahead takes nothing while its answers wait in the event loop
          }
        }
        await Promise.all(takers.map(takeOn))
        expect(keysOf(taken).sort()).toEqual(keys.sort())
      })

      it('an entry that was put with a lease when that lease has ended', async () => {
        await store(spool, {}, LONG_MS)
        const short = await store(spool, {}, SHORT_MS)
        expect(keysOf(await takeAll(await opened.spool(), 1))).toEqual([short.key])
        await expectNothing(spool)
      })

      it('an entry again to any replica when its lease has ended', async () => {
        const { key } = await store(spool)
        const [first] = await takeAll(spool, 1, SHORT_MS)
        const [second] = await takeAll(await opened.spool(), 1)
        expect(second).toMatchObject({ key, attempts: 2 })
        expect(Date.now()).toBeGreaterThanOrEqual(first?.until ?? Infinity)
        await expectNothing(spool)
      })

      it('no entry whose lease was extended', async () => {
        const extended = await store(spool)
        const [lease] = await takeAll(spool, 1, SHORT_MS)
        const longer = lease && (await spool.extend(lease, LONG_MS))
        expect(longer?.until).toBeGreaterThan(lease?.until ?? Infinity)
        const clock = await store(spool, {}, SHORT_MS) // ends after the first lease would have ended
        const other = await opened.spool()
        expect(keysOf(await takeAll(other, 1))).toEqual([clock.key])
        await expectNothing(other)
        if (longer) await spool.finish(longer)
        expect(await spool.totals()).toMatchObject({ envelopes: 1 })
        expect(extended.key).toBe(longer?.key)
      })

      it('a postponed entry to any replica when it is due', async () => {
        const { key } = await store(spool)
        const [lease] = await takeAll(spool, 1)
        const at = Date.now() + SHORT_MS
        if (lease) await spool.postpone(lease, at)
        expect(keysOf(await takeAll(await opened.spool(), 1))).toEqual([key])
        expect(Date.now()).toBeGreaterThanOrEqual(at)
      })

      it('no entry that is finished', async () => {
        await store(spool)
        await store(spool, { bytes: 2 * MIB })
        for (const lease of await takeAll(spool, 2, SHORT_MS)) await spool.finish(lease)
        const clock = await store(spool, {}, 2 * SHORT_MS)
        expect(keysOf(await takeAll(await opened.spool(), 1))).toEqual([clock.key])
        await expectNothing(spool)
      })

      it('no entry of a rate-limited category until the limit ends', async () => {
        const held = await store(spool)
        const free = await store(spool, { category: 'session' })
        const other = await store(spool, { project: OTHER_PROJECT })
        const wanted = [
          { project: PROJECT, rateLimitedCategories: ['error', 'replay'] },
          { project: OTHER_PROJECT, rateLimitedCategories: [] },
        ]
        expect(keysOf(await takeAll(spool, 2, LONG_MS, wanted)).sort()).toEqual([free.key, other.key].sort())
        await expectNothing(spool, wanted)
        expect(keysOf(await takeAll(spool, 1))).toEqual([held.key])
      })

      it('no entry of a project that was not requested', async () => {
        await store(spool, { project: OTHER_PROJECT })
        const mine = await store(spool)
        const wanted = [{ project: PROJECT, rateLimitedCategories: [] }]
        expect(keysOf(await takeAll(spool, 1, LONG_MS, wanted))).toEqual([mine.key])
        await expectNothing(spool, wanted)
        await expectNothing(spool, [])
        expect(await takeAll(spool, 1)).toHaveLength(1)
      })
    })

    describe('expires', () => {
      it('entries received before a time, and returns each once', async () => {
        const old = [await store(spool), await store(spool, { category: 'replay', bytes: 2 * MIB })]
        const young = await store(spool)
        expect((await spool.expire(young.received)).map(plain).sort(byAge)).toEqual(old)
        expect(await (await opened.spool()).expire(young.received)).toEqual([])
        expect(keysOf(await takeAll(spool, 1))).toEqual([young.key])
        await expectNothing(spool)
      })

      it('1,200 entries, each returned once to two replicas that expire at the same time', async () => {
        const other = await opened.spool()
        const old: SpoolEntry[] = []
        while (old.length < 1_200)
          old.push(...(await Promise.all(Array.from({ length: 100 }, () => store(spool)))))
        const young = await store(spool)
        const told: SpoolEntry[] = []
        for (let some = [young]; some.length > 0; told.push(...some))
          some = (await Promise.all([spool, other].map((each) => each.expire(young.received)))).flat()
        expect(keysOf(told).sort()).toEqual(keysOf(old).sort())
        expect(await spool.totals()).toMatchObject({ envelopes: 1 })
      })
    })

    describe('when it is full', () => {
      const reopen = async (shares: Partial<SpoolBounds>) => {
        await opened[Symbol.asyncDispose]()
        opened = await open({ ...ROOMY, bytes: MIB, ...shares })
        spool = await opened.spool()
      }

      /** Puts entries until one is not stored, and returns how many were. */
      const fill = async (reason: string, partsOf: (n: number) => Partial<SpoolEntry>): Promise<number> => {
        for (let stored = 0; ; stored++) {
          const { result } = await putOne(spool, { bytes: 9_000, ...partsOf(stored) })
          if (result.kind === 'stored') continue
          expect(result).toEqual({ kind: 'full', reason })
          return stored
        }
      }

      const finish = async (many: number) => {
        for (const lease of await takeAll(spool, many)) await spool.finish(lease)
      }

      it('limits a network to its share, which finished entries free again, and accepts entries of others', async () => {
        await reopen({ addressShare: 0.1 })
        const flood = () => ({ network: '203.0.113.7' })
        const stored = await fill('address-share', flood)
        expect(stored).toBeGreaterThan(2)
        await store(spool, { bytes: 9_000, network: '198.51.100.9' })
        await store(spool, { bytes: 9_000, network: '' })
        await finish(stored + 2)
        expect(await fill('address-share', flood)).toBe(stored)
      })

      it('limits the /56 and the /48 of IPv6 to two and four shares, which finished entries free again', async () => {
        await reopen({ addressShare: 0.1 })
        const fillFrom = (address: (n: number) => string) =>
          fill('address-share', (n) => ({ bytes: 3_000, network: networkOf(address(n)) }))
        const ofSmallest = await fillFrom((n) => `2a00:1:1:1::${n}`)
        const ofHome = await fillFrom((n) => `2a00:1:2:${n}::1`)
        const ofCompany = await fillFrom((n) => `2a00:1:3:${n}00::1`)
        expect([ofHome / ofSmallest, ofCompany / ofSmallest]).toEqual([
          expect.closeTo(2, 0),
          expect.closeTo(4, 0),
        ])
        await store(spool, { network: networkOf('2a00:1:4::1') })
        await finish(ofSmallest + ofHome + ofCompany + 1)
        expect(await fillFrom((n) => `2a00:1:2:${n}::1`)).toBe(ofHome)
        expect(await fillFrom((n) => `2a00:1:3:${n}00::1`)).toBe(ofCompany)
      })

      it('limits a project to its share, and accepts entries of other projects', async () => {
        await reopen({ projectShare: 0.5 })
        await fill('project-share', () => ({}))
        await store(spool, { project: OTHER_PROJECT, bytes: 9_000 })
      })

      it('limits all mirrors to one share together', async () => {
        await reopen({ projectShare: 0.5 })
        await fill('project-share', () => ({ project: `${PROJECT}#mirror` }))
        expect(await fill('project-share', () => ({ project: `${OTHER_PROJECT}#mirror` }))).toBe(0)
        await store(spool, { bytes: 9_000 })
      })
    })

    describe('counts', () => {
      it('no entries when it is empty', async () => {
        expect(await spool.totals()).toEqual({ envelopes: 0, bytes: 0, partitions: [], paused: [] })
      })

      it('entries and bytes by project and category, with the age of the oldest pending one', async () => {
        const gone = await store(spool, { network: '203.0.113.7' })
        const oldest = await store(spool, { category: 'session', bytes: 50 })
        await store(spool, { category: 'session', bytes: 70 })
        const large = await store(spool, { project: OTHER_PROJECT, bytes: 2 * MIB })
        const [lease] = await takeAll(spool, 1, LONG_MS, [
          { project: PROJECT, rateLimitedCategories: ['session'] },
        ])
        expect(lease?.key).toBe(gone.key)
        if (lease) await spool.finish(lease)
        const { partitions, bytes, ...all } = await (await opened.spool()).totals()
        expect(all).toEqual({ envelopes: 3, oldest: oldest.received, paused: [] })
        expect(bytes).toBeGreaterThan(2 * MIB + 120)
        expect(partitions).toHaveLength(2)
        expect(partitions).toContainEqual({
          ...{ project: PROJECT, category: 'session', envelopes: 2 },
          ...{ bytes: expect.any(Number), oldest: oldest.received },
        })
        expect(partitions).toContainEqual({
          ...{ project: OTHER_PROJECT, category: 'error', envelopes: 1 },
          ...{ bytes: expect.any(Number), oldest: large.received },
        })
      })
    })

    operatorPromises(() => ({ store: opened, spool }))
    valuePromises(() => ({ store: opened, spool }))
    snapshotPromises(() => ({ store: opened }))
    bundlePromises(() => ({ store: opened }))
  })
}

function byAge(a: SpoolEntry, b: SpoolEntry): number {
  return a.received - b.received
}
