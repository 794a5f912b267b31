/** Guarantees of every store for entries whose delivery has ended. */

import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type {
  EndedEntry,
  EndedFilter,
  Ending,
  Lease,
  Spool,
  SpoolBounds,
  SpoolEntry,
} from '../../../tunnel/src/pipeline/spool.ts'
import { inOne, LARGE_BYTES, OTHER_PROJECT, PROJECT, spoolEntryOf } from './entries.ts'
import type { OpenStore, Store } from './guarantees.ts'
import { bytesOf, expectNothing, keysOf, plain, putOne, store, takeAll } from './operations.ts'

const DECLINED: Ending = { state: 'declined', status: 403, answer: '{"detail":"bad key"}' }
const KEPT: Ending = { state: 'kept', status: 200 }
const PAGE = { limit: 100 }
const MIB = 1024 * 1024
const HOUR_MS = 60 * 60 * 1000
const ROOMY: SpoolBounds = {
  ...{ bytes: 1024 * MIB, addressShare: 1, projectShare: 1 },
  kept: { bytes: 256 * MIB, ageMs: 24 * HOUR_MS },
}
const SMALL: SpoolBounds = {
  ...{ bytes: 64 * MIB, addressShare: 0.5, projectShare: 1 },
  kept: { bytes: 4 * MIB, ageMs: HOUR_MS },
}
const NONE = { entries: 0, bytes: 0, projects: [] }
const EVENT = 'fc6d8c0c43fc4630ad850ee518f1b9d0'

export function entryPromises(name: string, open: OpenStore): void {
  describe(`Ended entries on ${name}`, () => {
    let opened: Store
    let spool: Spool

    beforeEach(async () => {
      opened = await open(ROOMY)
      spool = await opened.spool()
    })

    afterEach(() => opened[Symbol.asyncDispose]())

    describe('of deliveries', () => {
      it.each([1_000, LARGE_BYTES])(
        'stay with their %i bytes and the answer of Sentry, for every replica',
        async (bytes) => {
          const { entry, body } = await putOne(spool, { bytes, eventId: EVENT, network: '198.51.100.7' })
          await end(spool, DECLINED)
          const other = await opened.spool()
          const [found] = await other.entries.list({}, PAGE)
          expect(found).toMatchObject({ ...plain(entry), ...DECLINED, eventId: EVENT, isStored: true })
          expect(Math.abs(Number(found?.ended) - Date.now())).toBeLessThan(60_000)
          expect(found && body.equals(await bytesOf(await other.entries.read(found)))).toBe(true)
          expect(await other.entries.count({})).toEqual({ entries: 1, bytes, projects: [entry.project] })
          expect(await spool.totals()).toMatchObject({ envelopes: 0, partitions: [] })
          await expectNothing(other)
          await opened.closeAll()
          const again = await opened.spool()
          const [kept] = await again.entries.list({}, PAGE)
          expect(kept && body.equals(await bytesOf(await again.entries.read(kept)))).toBe(true)
        },
      )

      it('stay after they expired, with their bodies', async () => {
        const old = await store(spool, { received: Date.now() - 60_000 })
        await store(spool, { received: Date.now() })
        expect(keysOf(await spool.expire(Date.now() - 30_000))).toEqual([old.key])
        expect(await spool.entries.list({}, PAGE)).toMatchObject([
          { key: old.key, state: 'expired', isStored: true },
        ])
      })

      it('do not stay when they were delivered or purged, or when another replica has ended them', async () => {
        await store(spool)
        const [lease] = await takeAll(spool, 1)
        expect(lease && (await spool.finish(lease))).toBe(true)
        expect(lease && (await spool.finish(lease, DECLINED))).toBe(false)
        await store(spool)
        expect(await spool.purge({})).toHaveLength(1)
        expect(await spool.entries.list({}, PAGE)).toEqual([])
      })

      it('stay once when the same envelope ends twice, with the last answer', async () => {
        const { entry, body } = await putOne(spool)
        await end(spool, DECLINED)
        await spool.put(entry, inOne(body), 0)
        await end(spool, { ...DECLINED, status: 400 })
        expect(await spool.entries.list({}, PAGE)).toMatchObject([{ key: entry.key, status: 400 }])
        expect(await spool.entries.count({})).toMatchObject({ entries: 1 })
      })

      it('give way beyond a tenth of the store, the oldest first, and one network takes no more than its share', async () => {
        await using small = await open(SMALL)
        const here = await small.spool()
        const bytes = 200_000
        const failMany = async (network: string) => {
          for (let n = 0; n < 24; n++) await store(here, { bytes, network })
          await end(here, DECLINED, 24)
        }
        const stored = async () => (await here.entries.list({}, PAGE)).filter(({ isStored }) => isStored)
        await failMany('198.51.100.1')
        const first = await stored()
        expect(first.length * bytes).toBeGreaterThan(SMALL.bytes / 40)
        expect(first.length * bytes).toBeLessThan((SMALL.bytes / 20) * 1.1)
        await failMany('198.51.100.1') // a stranger that goes on
        expect((await stored()).length).toBe(first.length)
        await failMany('198.51.100.2')
        await failMany('198.51.100.3')
        const last = await stored()
        expect(last.length * bytes).toBeLessThan(SMALL.bytes / 10)
        expect(last.map(({ network }) => network)).toContain('198.51.100.3')
        expect(last.filter(({ network }) => network === '198.51.100.1').length).toBeLessThan(first.length)
      })

      it.each([
        ['198.51.100.2', '198.51.100.20'],
        ['mirror 198.51.100.2', 'mirror 198.51.100.23'],
      ])('of %s never push out those of %s', async (network, other) => {
        await using small = await open(SMALL)
        const here = await small.spool()
        const failMany = async (network: string, many: number) => {
          for (let n = 0; n < many; n++) await store(here, { bytes: 200_000, network })
          await end(here, DECLINED, many)
        }
        await failMany(other, 4)
        await failMany(network, 24)
        const stored = (await here.entries.list({}, PAGE)).filter((each) => each.isStored)
        expect(stored.filter((each) => each.network === other)).toHaveLength(4)
      })

      it('of one project may use all of their space', async () => {
        await using small = await open({ ...SMALL, addressShare: 1, projectShare: 0.5 })
        const here = await small.spool()
        for (let n = 0; n < 5; n++) {
          await store(here, { bytes: MIB })
          await end(here, DECLINED)
        }
        expect(await here.entries.count({})).toMatchObject({ entries: 5 })
      })

      it('leave their line when they are larger than a share', async () => {
        await using small = await open(SMALL)
        const here = await small.spool()
        const body = randomBytes(4 * MIB)
        const entry = await spoolEntryOf(body, { network: '198.51.100.9' })
        expect(await here.entries.keep(entry, inOne(body), DECLINED)).toBe('too-large')
        expect(await here.entries.list({}, PAGE)).toMatchObject([{ key: entry.key, isStored: false }])
      })

      it('of one network push out no lines of another one', async () => {
        await using small = await open({ bytes: 16 * MIB, addressShare: 0.05, projectShare: 1 })
        const here = await small.spool()
        const keepLines = async (network: string, many: number) => {
          for (let n = 0; n < many; n++) {
            const body = randomBytes(120_000) // larger than the share
            await here.entries.keep(await spoolEntryOf(body, { network }), inOne(body), DECLINED)
          }
        }
        await keepLines('198.51.100.9', 10)
        await keepLines('203.0.113.1', 450) // more than the share of one network
        await here.expire(0)
        const found = await here.entries.list({}, { limit: 1_000 })
        expect(found.filter(({ network }) => network === '198.51.100.9')).toHaveLength(10)
        expect(found.length).toBeLessThan(120)
        expect(found.some(({ isStored }) => isStored)).toBe(false)
      })

      it('leave their line when they were evicted for want of space', async () => {
        await using small = await open({ ...SMALL, bytes: 16 * MIB, addressShare: 1 })
        const here = await small.spool()
        const session = await store(here, { bytes: 900_000, category: 'session', eventId: EVENT })
        let evicted: SpoolEntry[] = []
        while (evicted.length === 0) {
          const { result } = await putOne(here, { bytes: 900_000 })
          if (result.kind !== 'stored') break
          evicted = result.evicted
        }
        const isEvicting = evicted.length > 0 // a NATS server may reject instead
        if (isEvicting) {
          expect(await here.entries.list({ states: ['evicted'] }, PAGE)).toMatchObject([
            { key: session.key, eventId: EVENT, isStored: false },
          ])
          expect(await here.entries.count({})).toEqual(NONE)
          expect(await here.entries.resend({}, 10)).toEqual({ entries: [], isOver: true })
        }
      })
    })

    describe('that are kept', () => {
      it.each([1_000, LARGE_BYTES])('hold %i bytes, once for each envelope', async (bytes) => {
        const { entry, body, kept } = await keepOne(spool, { bytes, eventId: EVENT })
        expect(kept).toBe('stored')
        const other = await opened.spool()
        expect(await other.entries.keep(entry, inOne(body), KEPT)).toBe('known')
        const [found] = await other.entries.list({ states: ['kept'] }, PAGE)
        expect(found).toMatchObject({ ...plain(entry), ...KEPT, eventId: EVENT, isStored: true })
        expect(found && body.equals(await bytesOf(await other.entries.read(found)))).toBe(true)
        await expectNothing(other)
        expect((await other.totals()).envelopes).toBe(0)
      })

      it('are kept after their delivery from the spool, too', async () => {
        const { entry, body } = await putOne(spool)
        await end(spool, KEPT)
        const [found] = await spool.entries.list({ states: ['kept'] }, PAGE)
        expect(found?.key).toBe(entry.key)
        expect(found && body.equals(await bytesOf(await spool.entries.read(found)))).toBe(true)
      })

      it('make room for newer ones, and those of one network for its own', async () => {
        await using small = await open(SMALL)
        const here = await small.spool()
        const bytes = 200_000
        const mine = []
        for (let n = 0; n < 3; n++) mine.push((await keepOne(here, { bytes, network: '198.51.100.1' })).entry)
        for (let n = 0; n < 20; n++) await keepOne(here, { bytes, network: '198.51.100.2' })
        const first = keysOf(await here.entries.list({}, PAGE))
        expect(first).toEqual(expect.arrayContaining(keysOf(mine)))
        expect(first.length * bytes).toBeLessThan(SMALL.bytes)
        for (let n = 0; n < 20; n++) await keepOne(here, { bytes, network: '198.51.100.3' })
        const last = await here.entries.list({}, PAGE)
        expect(last.length * bytes).toBeLessThan(4 * MIB)
        expect(keysOf(last)).not.toContain(mine[0]?.key)
        expect((await keepOne(here, { bytes: 3 * MIB, network: '198.51.100.3' })).kept).toBe('too-large')
      })
    })

    describe('that are kept, from many addresses,', () => {
      it.each([
        { many: 400, of: 'tiny entries', headers: [] },
        { many: 40, of: 'entries with long headers', headers: ['user-agent', 'x'.repeat(30_000)] },
      ])('are not pushed out by $many $of from one address', async ({ many, headers }) => {
        const kept = { bytes: MIB / 4, ageMs: HOUR_MS }
        await using small = await open({ ...SMALL, addressShare: 0.2, kept })
        const here = await small.spool()
        const others = []
        for (let n = 0; n < 20; n++)
          others.push((await keepOne(here, { bytes: 42, network: `203.0.113.${n}` })).entry)
        for (let n = 0; n < many; n++) {
          const network = '198.51.100.1'
          expect((await keepOne(here, { bytes: 42, network, headers })).kept).toBe('stored')
        }
        const found = keysOf(await here.entries.list({}, { limit: 1_000 }))
        expect(found).toEqual(expect.arrayContaining(keysOf(others)))
        expect(found.length).toBeGreaterThan(others.length)
        expect(found.length).toBeLessThan(others.length + 200) // a fifth of the space
      })
    })

    describe('are listed and purged', () => {
      it('by state, project, event, ID and time, in pages, the last one first', async () => {
        const declined = [await store(spool), await store(spool, { project: OTHER_PROJECT, eventId: EVENT })]
        for (const { key } of declined) await endOne(spool, key, DECLINED)
        const time = Date.now()
        await expect.poll(() => Date.now()).toBeGreaterThan(time)
        const expired = await store(spool, { received: Date.now() - 60_000 })
        await spool.expire(Date.now() - 30_000)
        const { entry: kept } = await keepOne(spool)
        const [first, second] = keysOf(declined)
        const keys = async (filter: EndedFilter) => keysOf(await everyPage(spool, filter))
        expect(await keys({})).toEqual([kept.key, expired.key, second, first])
        expect(await keys({ states: ['declined', 'kept'] })).toEqual([kept.key, second, first])
        expect(await keys({ projects: [OTHER_PROJECT] })).toEqual([second])
        expect(await keys({ projects: [PROJECT], states: ['expired'] })).toEqual([expired.key])
        expect(await keys({ eventId: EVENT })).toEqual([second])
        expect(await keys({ eventId: EVENT, states: ['kept'] })).toEqual([])
        expect(await keys({ from: time + 1 })).toEqual([kept.key, expired.key])
        expect(await keys({ to: time })).toEqual([second, first])
        const [found] = await spool.entries.list({ eventId: EVENT }, PAGE)
        if (!found) throw new Error('it is not listed')
        expect(await keys({ entry: { ...found, key: 'another' } })).toEqual([])
        expect(await keys({ entry: found })).toEqual([second])
        const other = await opened.spool()
        expect(await other.entries.purge({ entry: found })).toBe(1)
        expect(await other.entries.purge({ entry: found })).toBe(0)
        expect(await other.entries.purge({ states: ['declined'] })).toBe(1)
        expect(await keys({})).toEqual([kept.key, expired.key])
        await expect(other.entries.read(found)).rejects.toThrow()
      })

      it('while they are pending, by event and time', async () => {
        const first = await store(spool, { received: Date.now() - 60_000, eventId: EVENT })
        const second = await store(spool, { received: Date.now() })
        const order = 'newest'
        expect(keysOf(await spool.list({ order, limit: 9, eventId: EVENT }))).toEqual([first.key])
        const third = await store(spool, { received: Date.now(), eventId: EVENT, category: 'session' })
        const ofEvent = (query: object) => spool.list({ order, limit: 1, eventId: EVENT, ...query })
        const [newest] = await ofEvent({})
        expect(newest?.key).toBe(third.key)
        const after = { received: Number(newest?.received), place: Number(newest?.place) }
        expect(keysOf(await ofEvent({ after }))).toEqual([first.key])
        expect(keysOf(await ofEvent({ order: 'oldest' }))).toEqual([first.key])
        expect(keysOf(await ofEvent({ category: 'session', limit: 9 }))).toEqual([third.key])
        await spool.purge({ category: 'session' })
        expect(keysOf(await spool.list({ order, limit: 9, from: Date.now() - 30_000 }))).toEqual([second.key])
        expect(keysOf(await spool.list({ order, limit: 9, to: Date.now() - 30_000 }))).toEqual([first.key])
      })
    })

    describe('are resent:', () => {
      it.each([1_000, LARGE_BYTES])(
        'a dead letter of %i bytes is pending again, and does not expire at once',
        async (bytes) => {
          const { entry, body } = await putOne(spool, {
            ...{ bytes, received: Date.now() - 60_000, eventId: EVENT },
          })
          await end(spool, DECLINED)
          const other = await opened.spool()
          const { entries } = await other.entries.resend({}, 10)
          expect(entries).toMatchObject([{ key: entry.key, bytes, project: entry.project }])
          expect(await other.entries.resend({}, 10)).toEqual({ entries: [], isOver: true })
          expect(await spool.entries.list({}, PAGE)).toEqual([])
          expect(await spool.expire(Date.now() - 30_000)).toEqual([])
          const [lease] = await takeAll(other, 1)
          expect(lease && plain(lease)).toEqual(plain(entry))
          expect(lease).toMatchObject({ eventId: EVENT })
          expect(Math.abs(Number(lease?.resent) - Date.now())).toBeLessThan(60_000)
          expect(lease && body.equals(await bytesOf(await other.read(lease)))).toBe(true)
          expect(lease && (await other.finish(lease, DECLINED))).toBe(true)
          const [again] = await spool.entries.list({}, PAGE)
          expect(again && body.equals(await bytesOf(await spool.entries.read(again)))).toBe(true)
          expect(again && plain(again)).toEqual(plain(entry))
          const hourAgo = Date.now() - HOUR_MS
          expect(await spool.entries.count({ notResentSince: hourAgo })).toEqual(NONE)
          expect(await spool.entries.resend({ notResentSince: hourAgo }, 10)).toMatchObject({ isOver: true })
          expect(await spool.entries.count({})).toEqual({ entries: 1, bytes, projects: [entry.project] })
          expect(await spool.entries.count({ notResentSince: Date.now() + HOUR_MS })).toMatchObject({
            entries: 1,
          })
        },
      )

      it.each([1_000, LARGE_BYTES])(
        'a kept entry of %i bytes stays, and its copy is delivered without a second one',
        async (bytes) => {
          const { entry, body } = await keepOne(spool, { bytes, eventId: EVENT })
          const statuses: (number | undefined)[] = []
          for (const ending of [KEPT, undefined, DECLINED, { state: 'declined' } as const]) {
            expect((await spool.entries.resend({ states: ['kept'] }, 10)).entries).toMatchObject([
              { key: entry.key, bytes },
            ])
            const [lease] = await takeAll(spool, 1)
            expect(lease && plain(lease)).toEqual(plain(entry))
            expect(lease && body.equals(await bytesOf(await spool.read(lease)))).toBe(true)
            expect(lease && (await spool.finish(lease, ending))).toBe(true)
            const [found, ...others] = await spool.entries.list({}, PAGE)
            expect(others).toEqual([])
            expect(found).toMatchObject({ state: 'kept', key: entry.key, isStored: true })
            expect(Math.abs(Number(found?.resent) - Date.now())).toBeLessThan(60_000)
            expect(found && body.equals(await bytesOf(await spool.entries.read(found)))).toBe(true)
            statuses.push(found?.status)
          }
          expect(statuses).toEqual([KEPT.status, KEPT.status, DECLINED.status, undefined])
          expect((await spool.entries.resend({ notResentSince: Date.now() - HOUR_MS }, 10)).entries).toEqual(
            [],
          )
        },
      )

      it('a kept entry that was a dead letter counts as resent only once it was resent itself', async () => {
        const { entry } = await putOne(spool)
        await end(spool, DECLINED)
        await spool.entries.resend({}, 1)
        await end(spool, KEPT)
        const hourAgo = Date.now() - HOUR_MS
        for (const resent of [[entry.key], []]) {
          const { entries } = await spool.entries.resend({ notResentSince: hourAgo }, 1)
          expect(keysOf(entries)).toEqual(resent)
          if (entries.length > 0) await end(spool, KEPT)
        }
        expect((await spool.entries.count({ states: ['kept'] })).entries).toBe(1)
      })

      it('the oldest first, some at a time, and each one once', async () => {
        const put: SpoolEntry[] = []
        for (let n = 0; n < 5; n++) put.push((await keepOne(spool, { bytes: 100 + n })).entry)
        expect(await spool.entries.count({ states: ['kept'] }, 2)).toMatchObject({ entries: 2, bytes: 201 })
        const since = Date.now()
        const other = await opened.spool()
        const step = (here: Spool) => here.entries.resend({ states: ['kept'], notResentSince: since }, 2)
        const steps = [await step(spool), await step(other), await step(spool), await step(other)]
        expect(steps.map(({ entries }) => keysOf(entries))).toEqual([
          keysOf(put.slice(0, 2)),
          keysOf(put.slice(2, 4)),
          keysOf(put.slice(4)),
          [],
        ])
        expect(steps.at(-1)?.isOver).toBe(true)
        expect(keysOf(await takeAll(spool, 5)).sort()).toEqual(keysOf(put).sort())
        await expectNothing(spool)
      })

      it('none twice when two replicas resend at the same time', async () => {
        const put = await Promise.all(Array.from({ length: 40 }, () => store(spool)))
        await end(spool, DECLINED, put.length)
        const other = await opened.spool()
        const resent = await Promise.all([spool, other].map((each) => resendAll(each)))
        expect(keysOf(resent.flat()).sort()).toEqual(keysOf(put).sort())
        expect((await spool.totals()).envelopes).toBe(put.length)
      })

      it('none that is pending again', async () => {
        const { entry, body } = await putOne(spool)
        await end(spool, DECLINED)
        expect((await spool.put(entry, inOne(body), 0)).kind).toBe('stored')
        expect((await spool.entries.resend({}, 10)).entries).toEqual([])
        expect(await spool.totals()).toMatchObject({ envelopes: 1 })
        expect((await spool.entries.resend({}, 10)).isOver).toBe(true)
      })
    })
  })
}

async function keepOne(spool: Spool, { bytes = 100, ...parts }: Partial<SpoolEntry> = {}) {
  const body = randomBytes(bytes)
  const entry = await spoolEntryOf(body, parts)
  return { entry, body, kept: await spool.entries.keep(entry, inOne(body), KEPT) }
}

/** Ends the delivery of pending entries. */
async function end(spool: Spool, ending: Ending, many = 1): Promise<void> {
  const leases: Lease[] = await takeAll(spool, many)
  for (const lease of leases) expect(await spool.finish(lease, ending)).toBe(true)
}

/** Ends the delivery of one pending entry. */
async function endOne(spool: Spool, key: string, ending: Ending): Promise<void> {
  const { envelopes } = await spool.totals()
  for (const lease of await takeAll(spool, envelopes))
    if (lease.key === key) expect(await spool.finish(lease, ending)).toBe(true)
    else await spool.postpone(lease, 0)
}

async function everyPage(spool: Spool, filter: EndedFilter): Promise<EndedEntry[]> {
  const found: EndedEntry[] = []
  for (;;) {
    const after = found.at(-1)
    const page = await spool.entries.list(filter, { limit: 2, ...(after && { after }) })
    found.push(...page)
    if (page.length < 2) return found
  }
}

async function resendAll(spool: Spool): Promise<SpoolEntry[]> {
  const resent: SpoolEntry[] = []
  for (;;) {
    const { entries, isOver } = await spool.entries.resend({}, 7)
    resent.push(...entries)
    if (isOver) return resent
  }
}
