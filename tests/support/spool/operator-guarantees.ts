/** Guarantees of every spool for the actions of an operator. */

import { describe, expect, it } from 'vitest'
import type {
  EntryRef,
  ListedEntry,
  PageQuery,
  Spool,
  SpoolEntry,
} from '../../../tunnel/src/pipeline/spool.ts'
import { ALL, LONG_MS, OTHER_PROJECT, PROJECT } from './entries.ts'
import type { Store } from './guarantees.ts'
import { bytesOf, expectNothing, keysOf, plain, putOne, store, takeAll } from './operations.ts'

const MIB = 1024 * 1024
const LATER_MS = 30_000 // postponed beyond the end of the test

export function operatorPromises(current: () => { store: Store; spool: Spool }): void {
  const spool = () => current().spool
  const another = () => current().store.spool()

  describe('shows an operator', () => {
    it('all pending entries once in pages, oldest or newest first', async () => {
      const put = []
      for (let n = 0; n < 7; n++)
        put.push(await store(spool(), { category: n % 2 ? 'replay' : 'error', bytes: 50 + n }))
      const other = await another()
      expect(keysOf(await everyPage(other, { order: 'oldest', limit: 3 }))).toEqual(keysOf(put))
      expect(keysOf(await everyPage(other, { order: 'newest', limit: 3 }))).toEqual(keysOf(put.toReversed()))
      const [first] = await other.list({ order: 'oldest', limit: 1 })
      expect(first && plain(first)).toEqual(put[0])
      expect(first).toMatchObject({ attempts: 0, leased: false })
      expect(first).not.toHaveProperty('due')
    })

    it('the pending entries of one project or category among many others', async () => {
      const mine = [await store(spool())]
      const others = await Promise.all(
        Array.from({ length: 150 }, () => store(spool(), { project: OTHER_PROJECT, category: 'session' })),
      )
      mine.push(await store(spool(), { category: 'replay' }), await store(spool()))
      for (const order of ['oldest', 'newest'] as const) {
        const sort = (keys: string[]) => (order === 'oldest' ? keys : keys.toReversed())
        const list = async (query: Partial<PageQuery>) =>
          keysOf(await everyPage(spool(), { order, limit: 2, ...query }))
        expect(await list({ projects: [PROJECT] })).toEqual(sort(keysOf(mine)))
        expect(await list({ category: 'replay' })).toEqual(keysOf(mine.slice(1, 2)))
        expect(await list({ projects: [PROJECT], category: 'session' })).toEqual([])
        expect((await list({ projects: [PROJECT, OTHER_PROJECT], limit: 100 })).sort()).toEqual(
          keysOf([...mine, ...others]).sort(),
        )
      }
    })

    it('no entries when it is empty', async () => {
      for (const order of ['oldest', 'newest'] as const)
        expect(await spool().list({ order, limit: 10 })).toEqual([])
      expect(await spool().list({ entry: { id: 1, key: 'none' } })).toEqual([])
    })

    it.each([1_000, 2 * MIB])(
      'an entry of %i bytes with all fields and its body, only while it is pending',
      async (bytes) => {
        const { entry, body } = await putOne(spool(), { bytes })
        const other = await another()
        const [row] = await other.list({ order: 'newest', limit: 1 })
        if (!row) throw new Error('it is not listed')
        const [found] = await other.list({ entry: row })
        expect(found && plain(found)).toEqual(entry)
        expect(found && body.equals(await bytesOf(await other.read(found)))).toBe(true)
        expect(await other.list({ entry: { ...row, key: 'another' } })).toEqual([])
        const [lease] = await takeAll(spool(), 1)
        if (lease) await spool().finish(lease)
        expect(await other.list({ entry: row })).toEqual([])
      },
    )
  })

  describe('lets an operator', () => {
    it('retry one postponed entry, a category, a project, or all, at once', async () => {
      const put: SpoolEntry[] = []
      for (const category of ['error', 'error', 'session'])
        put.push(
          await store(spool(), { category }),
          await store(spool(), { category, project: OTHER_PROJECT }),
        )
      for (const lease of await takeAll(spool(), put.length))
        await spool().postpone(lease, Date.now() + LATER_MS)
      await expectNothing(spool())
      const other = await another()
      const taken = async (many: number) => keysOf(await takeAll(other, many)).sort()

      expect(await other.retry({ entry: await refOf(other, put[0]) })).toBe(1)
      expect(await taken(1)).toEqual(keysOf(put.slice(0, 1)))
      expect(await other.retry({ category: 'session', projects: [PROJECT] })).toBe(1)
      expect(await taken(1)).toEqual(keysOf(put.slice(4, 5)))
      expect(await other.retry({ projects: [OTHER_PROJECT] })).toBe(3)
      expect(await taken(3)).toEqual(keysOf([1, 3, 5].flatMap((n) => put[n] ?? [])).sort())
      expect(await other.retry({})).toBe(1)
      expect(await taken(1)).toEqual(keysOf(put.slice(2, 3)))
      expect((await other.totals()).envelopes).toBe(put.length)
    })

    it('retry no entry that is leased', async () => {
      await store(spool())
      const under = await store(spool(), {}, LONG_MS)
      const [lease] = await takeAll(spool(), 1)
      const other = await another()
      expect(await other.retry({})).toBe(0)
      expect(await other.retry({ entry: await refOf(other, under) })).toBe(0)
      await expectNothing(other)
      expect(lease && (await spool().finish(lease))).toBe(true)
    })

    it('find an entry by the same ID after it was postponed and retried', async () => {
      const { entry, body } = await putOne(spool())
      const other = await another()
      const one = await refOf(other, entry)
      const ref = { id: one.id, key: one.key } // the reference that an operator has noted
      for (let tries = 1; tries <= 3; tries++) {
        const [lease] = await takeAll(spool(), 1)
        if (lease) await spool().postpone(lease, Date.now() + LATER_MS)
        expect(await other.retry({ entry: ref })).toBe(1)
        expect((await refOf(spool(), entry)).id).toBe(one.id)
        const [found] = await other.list({ entry: ref })
        expect(found && plain(found)).toEqual(entry)
        expect(found && body.equals(await bytesOf(await other.read(found)))).toBe(true)
        expect(body.equals(await bytesOf(await other.read({ ...entry, ...ref })))).toBe(true)
      }
      expect(keysOf(await other.purge({ entry: ref }))).toEqual([entry.key])
      expect(await other.list({ entry: ref })).toEqual([])
    })

    it('see the number of attempts after retries', async () => {
      await store(spool())
      for (let tries = 1; tries <= 3; tries++) {
        const [lease] = await takeAll(spool(), 1)
        expect(lease?.attempts).toBe(tries)
        if (lease) await spool().postpone(lease, Date.now() + LATER_MS)
        expect(await (await another()).retry({})).toBe(1)
      }
      expect((await spool().totals()).envelopes).toBe(1)
    })

    it('purge one entry, a category, a project, or all, each returned once', async () => {
      const put: SpoolEntry[] = []
      for (const category of ['error', 'error', 'session'])
        put.push(
          await store(spool(), { category }),
          await store(spool(), { category, project: OTHER_PROJECT, bytes: 2 * MIB }),
        )
      const other = await another()
      const keys = (...numbers: number[]) => keysOf(numbers.flatMap((n) => put[n] ?? [])).sort()
      const purge = async (which: Parameters<Spool['purge']>[0]) => keysOf(await other.purge(which)).sort()

      const one = await refOf(spool(), put[0])
      expect((await other.purge({ entry: one })).map(plain)).toEqual([put[0]])
      expect(await spool().purge({ entry: one })).toEqual([])
      expect(await purge({ category: 'session', projects: [OTHER_PROJECT] })).toEqual(keys(5))
      expect(await purge({ projects: [OTHER_PROJECT] })).toEqual(keys(1, 3))
      expect((await spool().totals()).envelopes).toBe(2)
      expect(await purge({})).toEqual(keys(2, 4))
      expect(await spool().totals()).toMatchObject({ envelopes: 0, partitions: [] })
      await expectNothing(spool())
      await store(spool())
    })

    it('purge a leased entry, which can then not be finished or postponed', async () => {
      await store(spool())
      const [lease] = await takeAll(spool(), 1)
      const other = await another()
      expect(keysOf(await other.purge({}))).toEqual([lease?.key])
      expect(lease && (await spool().finish(lease))).toBe(false)
      if (lease) await spool().postpone(lease, Date.now() - 1)
      await expectNothing(spool())
    })

    it('purge at the same time as another replica, with each entry returned once', async () => {
      const put = await Promise.all(Array.from({ length: 600 }, () => store(spool())))
      const other = await another()
      const told = (await Promise.all([spool(), other].map((each) => each.purge({})))).flat()
      expect(keysOf(told).sort()).toEqual(keysOf(put).sort())
    })

    it('pause all projects in every replica and across restarts, while puts continue', async () => {
      const { key } = await store(spool())
      await spool().pause()
      const other = await another()
      for (const each of [spool(), other]) await expectNothing(each)
      const second = await store(other)
      await current().store.closeAll()
      const again = await another()
      await expectNothing(again)
      expect((await again.totals()).paused).toEqual([{ since: expect.any(Number) }])
      await again.resume()
      expect(keysOf(await takeAll(again, 2)).sort()).toEqual([key, second.key].sort())
      expect((await again.totals()).paused).toEqual([])
    })

    it('pause and resume several projects at the same time from several replicas', async () => {
      const replicas = await Promise.all([another(), another(), another()])
      const names = Array.from({ length: 12 }, (_, n) => `${PROJECT}${n}`)
      const at = (n: number) => replicas[n % replicas.length] ?? spool()
      await Promise.all(names.map((name, n) => at(n).pause(name)))
      const paused = async () => (await spool().totals()).paused.map(({ project }) => project).sort()
      expect(await paused()).toEqual([...names].sort())
      const [kept, ended] = [names.slice(0, 6), names.slice(6)]
      const begun = ['first', 'second']
      await Promise.all([
        ...ended.map((name, n) => at(n).resume(name)),
        ...begun.map((name, n) => at(n + 1).pause(name)),
      ])
      expect(await paused()).toEqual([...kept, ...begun].sort())
    })

    it('pause one project, while other projects and running attempts continue', async () => {
      await store(spool())
      const [lease] = await takeAll(spool(), 1)
      const mine = await store(spool())
      const others = await store(spool(), { project: OTHER_PROJECT })
      const other = await another()
      await other.pause(PROJECT)
      await other.pause(PROJECT)
      expect((await spool().totals()).paused).toEqual([{ project: PROJECT, since: expect.any(Number) }])
      expect(keysOf(await takeAll(spool(), 1))).toEqual([others.key])
      await expectNothing(other)
      expect(lease && (await spool().finish(lease))).toBe(true)
      await spool().pause()
      await spool().resume()
      await expectNothing(spool())
      await spool().resume(PROJECT)
      expect(keysOf(await takeAll(spool(), 1, LONG_MS, ALL))).toEqual([mine.key])
    })
  })
}

export async function everyPage(spool: Spool, query: PageQuery): Promise<ListedEntry[]> {
  const all: ListedEntry[] = []
  for (let after = query.after; ; after = all.at(-1)) {
    const page = await spool.list({ ...query, ...(after && { after }) })
    all.push(...page)
    if (page.length < query.limit) return all
  }
}

export async function refOf(spool: Spool, wanted: { key: string } | undefined): Promise<EntryRef> {
  const found = (await everyPage(spool, { order: 'oldest', limit: 50 })).find(
    ({ key }) => key === wanted?.key,
  )
  if (!found) throw new Error('it is not listed')
  return found
}
