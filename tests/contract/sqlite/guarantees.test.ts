/** Contract of the spool on one machine, a SQLite file; beyond that of every spool: eviction, exact shares, exact bytes, and the state of each lease. */

import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Spool, SpoolBounds, SpoolEntry } from '../../../tunnel/src/pipeline/spool.ts'
import { inOne, LONG_MS, OTHER_PROJECT, PROJECT, spoolEntryOf } from '../../support/spool/entries.ts'
import { entryPromises } from '../../support/spool/entry-guarantees.ts'
import { type Store, spoolPromises } from '../../support/spool/guarantees.ts'
import { modelPromise } from '../../support/spool/model.ts'
import { keysOf, plain, putOne, store, takeAll } from '../../support/spool/operations.ts'
import { everyPage, refOf } from '../../support/spool/operator-guarantees.ts'
import { openStore } from '../../support/spool/sqlite-spool.ts'

const MIB = 1024 * 1024
const ROOMY: SpoolBounds = { bytes: 1024 * MIB, addressShare: 1, projectShare: 1 }
const LATER_MS = 30_000 // postponed beyond the end of the test

spoolPromises('SQLite', openStore)
entryPromises('SQLite', openStore)
modelPromise(openStore)

describe('The spool on SQLite', () => {
  let opened: Store
  let spool: Spool

  const reopen = async (bounds: SpoolBounds) => {
    await opened[Symbol.asyncDispose]()
    opened = await openStore(bounds)
    spool = await opened.spool()
  }

  beforeEach(async () => {
    opened = await openStore(ROOMY)
    spool = await opened.spool()
  })

  afterEach(() => opened[Symbol.asyncDispose]())

  describe('when it is full', () => {
    const bounds: SpoolBounds = { bytes: 100_000, addressShare: 0.4, projectShare: 0.7 }
    const SIZE = 9_000 // bytes of a body of which eleven fit, with everything that a store counts beside a body

    const fill = async (parts: Partial<SpoolEntry>): Promise<SpoolEntry[]> => {
      const stored: SpoolEntry[] = []
      for (;;) {
        const { entry, result } = await putOne(spool, { bytes: SIZE, ...parts })
        if (result.kind !== 'stored') return stored
        expect(result.evicted).toEqual([])
        stored.push(entry)
      }
    }

    it('evicts less important entries, the least important and oldest first, and returns them', async () => {
      await reopen({ ...bounds, addressShare: 1, projectShare: 1 })
      const sessions = [await store(spool, { bytes: SIZE, category: 'session' })]
      const replays = await fill({ category: 'replay' })
      const first = await putOne(spool, { bytes: SIZE })
      expect(first.result).toMatchObject({ kind: 'stored' })
      const told = [first.result]
      for (let i = 0; i < replays.length; i++) told.push((await putOne(spool, { bytes: SIZE })).result)
      const evicted = told.flatMap((result) => (result.kind === 'stored' ? result.evicted : []))
      expect(evicted.map(plain)).toEqual([...replays, ...sessions])
      expect((await spool.totals()).envelopes).toBe(told.length)
    })

    it('evicts no entry of the same importance, and returns full', async () => {
      await reopen({ ...bounds, addressShare: 1, projectShare: 1 })
      const errors = await fill({})
      for (const category of ['error', 'feedback', 'session', 'replay'])
        expect((await putOne(spool, { bytes: SIZE, category })).result).toEqual({
          kind: 'full',
          reason: 'bound',
        })
      expect(keysOf(await takeAll(spool, errors.length))).toEqual(keysOf(errors))
    })

    it('evicts nothing for an entry that exceeds the whole bound', async () => {
      await reopen({ ...bounds, addressShare: 1, projectShare: 1 })
      const replays = await fill({ category: 'replay' })
      const body = randomBytes(100_001)
      const huge = await spoolEntryOf(body)
      expect((await spool.put(huge, inOne(body), 0)).kind).toBe('full')
      expect((await spool.totals()).envelopes).toBe(replays.length)
    })

    it('accepts entries again when others are finished', async () => {
      await reopen({ ...bounds, addressShare: 1, projectShare: 1 })
      await fill({})
      const [lease] = await takeAll(spool, 1)
      if (lease) await spool.finish(lease)
      await store(spool, { bytes: SIZE })
    })

    it('limits an address to its share over all replicas, and accepts entries of other addresses', async () => {
      await reopen(bounds)
      const other = await opened.spool()
      const flood = { network: '203.0.113.7', bytes: SIZE }
      const results = []
      for (let i = 0; i < 12; i++) results.push((await putOne(i % 2 ? spool : other, flood)).result)
      expect(results.at(-1)).toEqual({ kind: 'full', reason: 'address-share' })
      const stored = results.filter(({ kind }) => kind === 'stored').length
      expect(stored).toBeLessThanOrEqual(4)
      expect(stored).toBeGreaterThan(0)
      await store(spool, { network: '198.51.100.9', bytes: SIZE })
    })

    it('counts the headers of an entry as well as its body', async () => {
      await reopen(bounds)
      const flood = { network: '203.0.113.7', bytes: 10, headers: ['referer', 'x'.repeat(SIZE)] }
      const results = []
      for (let i = 0; i < 12; i++) results.push((await putOne(spool, flood)).result)
      expect(results.at(-1)).toEqual({ kind: 'full', reason: 'address-share' })
      expect(results.filter(({ kind }) => kind === 'stored').length).toBeLessThanOrEqual(4)
    })
  })

  it('evicts less important entries of a project that exceeds its share, and none of others', async () => {
    await reopen({ bytes: 100_000, addressShare: 1, projectShare: 0.5 })
    const replays = []
    for (let n = 0; n < 3; n++) replays.push(await store(spool, { bytes: 9_000, category: 'replay' }))
    await store(spool, { bytes: 9_000, category: 'replay', project: OTHER_PROJECT })
    const evicted: SpoolEntry[] = []
    for (let n = 0; n < 5; n++) {
      const { result } = await putOne(spool, { bytes: 9_000 })
      if (result.kind === 'stored') evicted.push(...result.evicted)
    }
    expect(evicted.map(plain)).toEqual(replays)
    const left = (await spool.totals()).partitions.map(({ project, category }) => [project, category])
    expect(left.sort()).toEqual([
      [PROJECT, 'error'],
      [OTHER_PROJECT, 'replay'],
    ])
  })

  it('evicts entries for mirrors first, also for replays', async () => {
    await reopen({ bytes: 100_000, addressShare: 1, projectShare: 0.5 })
    const fill = async (project: string) => {
      const evicted: SpoolEntry[] = []
      for (;;) {
        const { result } = await putOne(spool, { bytes: 9_000, category: 'replay', priority: 3, project })
        if (result.kind !== 'stored') return evicted
        evicted.push(...result.evicted)
      }
    }
    await fill(`${OTHER_PROJECT}#mirror`)
    const evicted = [...(await fill(PROJECT)), ...(await fill(OTHER_PROJECT))]
    expect(new Set(evicted.map(({ project }) => project))).toEqual(new Set([`${OTHER_PROJECT}#mirror`]))
  })

  it('counts bytes by project and category, with the fields of the entries', async () => {
    const sessions = [
      await store(spool, { category: 'session' }),
      await store(spool, { category: 'session' }),
    ]
    const large = await store(spool, { project: OTHER_PROJECT, bytes: 2 * MIB })
    const { partitions, bytes } = await (await opened.spool()).totals()
    const weights = [sessions, [large]].map((all) => all.reduce((sum, each) => sum + opened.weigh(each), 0))
    expect(partitions.map((each) => each.bytes).sort()).toEqual(weights.sort())
    expect(bytes).toBeLessThanOrEqual(weights.reduce((sum, each) => sum + each))
  })

  it('shows for each entry the attempts, and until when it is leased or postponed', async () => {
    for (let n = 0; n < 3; n++) await store(spool)
    const [leased, putOff] = await takeAll(spool, 2)
    if (!leased || !putOff) throw new Error('nothing was taken')
    const at = Date.now() + LATER_MS
    await spool.postpone(putOff, at)
    const under = await store(spool, {}, LONG_MS)
    const rows = await everyPage(await opened.spool(), { order: 'oldest', limit: 10 })
    const byKey = new Map(rows.map(({ key, attempts, leased, due }) => [key, { attempts, leased, due }]))
    expect(byKey.size).toBe(4)
    expect(byKey.get(leased.key)).toEqual({ attempts: 1, leased: true, due: leased.until })
    expect(byKey.get(putOff.key)).toEqual({ attempts: 1, leased: false, due: at })
    expect(byKey.get(under.key)).toMatchObject({ attempts: 0, leased: true })
  })

  it('finds an entry by the same ID after the attempt that it was put with has failed', async () => {
    const body = randomBytes(100)
    const entry = await spoolEntryOf(body)
    const result = await spool.put(entry, inOne(body), LONG_MS)
    if (result.kind !== 'stored') throw new Error('it is not stored')
    const { id } = await refOf(spool, entry)
    await spool.postpone(await spool.extend(result.lease, LONG_MS * 2), Date.now() + LATER_MS)
    expect((await refOf(spool, entry)).id).toBe(id)
    expect(await (await opened.spool()).list({ entry: { id, key: entry.key } })).toMatchObject([
      { id, leased: false },
    ])
  })
})
