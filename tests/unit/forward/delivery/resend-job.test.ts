/** Job that resends entries: its pace, what it waits for, and the replicas that share it. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { parseDsn } from '../../../../contract/dsn.ts'
import { ResendJobs } from '../../../../tunnel/src/forward/delivery/resend-job.ts'
import { createProjects } from '../../../../tunnel/src/pipeline/projects.ts'
import type {
  EndedFilter,
  EndedPlace,
  PartitionTotals,
  SpoolEntry,
} from '../../../../tunnel/src/pipeline/spool.ts'
import { OTHER_PROJECT, PROJECT, spoolEntryOf } from '../../../support/spool/entries.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const STEP = 250
const MIRROR = `${OTHER_PROJECT}#mirror`
const MANY = 1_000
const DECLINED = { states: ['declined'] as const }

describe('ResendJobs', () => {
  const projects = createProjects([PROJECT, OTHER_PROJECT].flatMap((text) => parseDsn(text) ?? []))
  const replicas = new Map<string, ResendJobs>()
  let stored: SpoolEntry[]
  let withoutRoom: number
  let places: (EndedPlace | undefined)[]
  let resent: { at: number; replica: string }[]
  let filters: EndedFilter[]
  let pending: PartitionTotals[]
  let limited: string[]
  let capacity: number | undefined
  let value: { value: string | undefined; revision: number }
  let errors: unknown[]
  let isFailing: boolean
  let live: number

  beforeEach(async () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 7, 14, 12) })
    stored = await Promise.all(Array.from({ length: MANY }, (_, n) => spoolEntryOf(Buffer.from(`${n}`))))
    withoutRoom = 0
    places = []
    resent = []
    filters = []
    pending = []
    limited = []
    capacity = 1_000
    value = { value: undefined, revision: 0 }
    errors = []
    isFailing = false
    live = 0
  })

  afterEach(async () => {
    await Promise.all(Array.from(replicas.values(), (jobs) => jobs.stop()))
    replicas.clear()
    vi.useRealTimers()
    expect(errors).toEqual([])
  })

  function start(replica = 'a', aheadMs = 0): ResendJobs {
    const jobs = new ResendJobs({
      spool: {
        entries: {
          resend: async (filter: EndedFilter, limit: number, after?: EndedPlace) => {
            filters.push(filter)
            places.push(after)
            if (!after && withoutRoom > 0) return { entries: [], isOver: false, after: { ended: 0, id: 0 } }
            const entries = stored.splice(0, limit)
            const place = { ended: MANY - stored.length, id: 0 }
            return { entries, isOver: entries.length === 0, after: place }
          },
          count: async () => ({
            ...{ entries: stored.length, bytes: 10 * stored.length },
            projects: [...new Set(stored.map(({ project }) => project))],
          }),
        } as never,
        totals: async () => ({
          envelopes: pending.reduce((sum, { envelopes }) => sum + envelopes, 0),
          ...{ bytes: 0, paused: [], partitions: pending },
        }),
        state: {
          get: async () => value,
          clockOffsetMs: () => -aheadMs,
          put: async (_, next, revision) => {
            if (isFailing) throw new Error('locked')
            if (revision !== value.revision) return false
            value = { value: next, revision: revision + 1 }
            return true
          },
        },
      },
      deliverer: { capacity: () => capacity, noteResent: () => {} },
      limits: { limitedCategories: () => limited },
      deliveredLive: () => live,
      ...{ projects, replica, now: () => Date.now() + aheadMs },
      onResent: () => resent.push({ at: Date.now(), replica }),
      onError: (error) => errors.push(error),
    })
    replicas.set(replica, jobs)
    jobs.start()
    return jobs
  }

  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
  const begin = async (jobs: ResendJobs, order: Parameters<ResendJobs['begin']>[0] = DECLINED) =>
    expect(await jobs.begin(order, await jobs.count(order))).toBe(true)
  const pendingOf = (envelopes: number, category = 'error', project = PROJECT) => ({
    ...{ project, category, envelopes, bytes: 1 },
  })

  it('resends a tenth of what the upstream takes, and at most 250 a second', async () => {
    const jobs = start()
    await begin(jobs)
    await pass(2 * SECOND)
    const before = resent.length
    await pass(SECOND)
    expect(resent.length - before).toBe(100)
    capacity = 100_000
    await pass(SECOND)
    expect(resent.length - before).toBeLessThanOrEqual(350)
    await pass(10 * SECOND)
    expect(resent).toHaveLength(MANY)
    expect(await jobs.status()).toMatchObject({
      ...{ state: 'declined', entries: MANY, bytes: 10 * MANY, sent: MANY, finished: expect.any(Number) },
    })
  })

  it('uses what live traffic leaves of 50 a second while the upstream is idle', async () => {
    capacity = 20
    const jobs = start()
    await begin(jobs)
    await pass(2 * SECOND)
    const before = resent.length
    await pass(4 * SECOND)
    expect(resent.length - before).toBe(200)
    const traffic = setInterval(() => live++, 25) // 40 a second
    await pass(SECOND)
    const beside = resent.length
    await pass(4 * SECOND)
    clearInterval(traffic)
    expect(resent.length - beside).toBe(40)
  })

  it.each([
    ['an entry is pending', () => [pendingOf(1)]],
    ['an entry that it has resent to a mirror is pending', () => [pendingOf(1, 'error', MIRROR)]],
  ])('resends a tenth again at once while %s', async (_, late) => {
    capacity = 20
    const jobs = start()
    const entry = stored[0]
    if (entry) stored[0] = { ...entry, project: MIRROR }
    await begin(jobs)
    await pass(2 * SECOND)
    pending = late()
    await pass(STEP)
    const before = resent.length
    await pass(10 * SECOND)
    expect(resent.length - before).toBe(20)
    pending = [pendingOf(0)]
    await pass(SECOND)
    expect(resent.length - before).toBeGreaterThan(50)
  })

  it('resends entries that ended before its start, and were not resent within an hour before it', async () => {
    const jobs = start()
    await begin(jobs, { ...DECLINED, projects: [PROJECT], from: 5, eventId: 'f' })
    const started = Date.now()
    await pass(20 * SECOND)
    expect(filters[0]).toEqual({
      ...{ states: ['declined'], projects: [PROJECT], eventId: 'f', from: 5, to: started },
      notResentSince: started - 60 * MINUTE,
    })
    expect(new Set(filters.map(({ from }) => from))).toEqual(new Set([5]))
    const ended = places.slice(1).map((place) => place?.ended ?? 0)
    expect(ended).toEqual(ended.toSorted((a, b) => a - b))
    expect(ended.at(-1)).toBe(MANY)
  })

  it.each([
    [20, 2],
    [3, 0.3],
  ])('resends a tenth of the %d envelopes that a slow upstream takes a second', async (takes, perSecond) => {
    capacity = takes
    pending = [pendingOf(1)]
    const jobs = start()
    await begin(jobs)
    await pass(2 * SECOND)
    const before = resent.length
    await pass(20 * SECOND)
    expect(resent.length - before).toBe(20 * perSecond)
  })

  it('passes entries without room, and ends', async () => {
    withoutRoom = 1
    const jobs = start()
    await begin(jobs)
    await pass(30 * SECOND)
    expect(await jobs.status()).toMatchObject({ sent: MANY, finished: expect.any(Number) })
  })

  it('counts what it has resent while its state could not be stored', async () => {
    const jobs = start()
    await jobs.begin(DECLINED, { entries: MANY, bytes: 0 })
    await pass(2 * SECOND)
    isFailing = true
    await pass(SECOND)
    isFailing = false
    expect(errors).not.toEqual([])
    errors = []
    await pass(MINUTE)
    expect(await jobs.status()).toMatchObject({ sent: MANY, finished: expect.any(Number) })
  })

  it('leaves out the entries of projects that are not configured', async () => {
    const jobs = start()
    const former = PROJECT.replace('//', '//old')
    for (const [n, project] of [former, 'https://gone@gone.example/1'].entries())
      stored[n] = { ...(stored[n] as SpoolEntry), project }
    await begin(jobs, await jobs.withoutUndeliverable(DECLINED))
    await pass(2 * SECOND)
    expect(filters[0]?.projects).toEqual([former, PROJECT])
  })

  it('ends when its project is gone', async () => {
    capacity = undefined
    const jobs = start()
    await begin(jobs, { ...DECLINED, projects: ['https://gone@gone.example/1'] })
    await pass(5 * SECOND)
    expect(await jobs.status()).toMatchObject({ sent: 0, finished: expect.any(Number) })
  })

  it('writes once a second while it waits', async () => {
    capacity = 0
    pending = [pendingOf(1)]
    const jobs = start()
    await begin(jobs)
    await pass(2 * SECOND)
    const before = value.revision
    await pass(10 * SECOND)
    expect(value.revision - before).toBe(10)
  })

  it('stays with its replica when the clock of another one is wrong', async () => {
    const jobs = start('a')
    await begin(jobs)
    await pass(1.5 * SECOND)
    const other = start('b', 5 * MINUTE)
    await pass(5 * SECOND)
    expect(new Set(resent.map(({ replica }) => replica))).toEqual(new Set(['a']))
    const { started = 0 } = (await jobs.status()) ?? {}
    expect((await other.status())?.started).toBe(started + 5 * MINUTE)
    await jobs.stop()
    await pass(20 * SECOND)
    expect(resent.at(-1)?.replica).toBe('b')
    expect([filters[0]?.to, filters.at(-1)?.to]).toEqual([started, started + 5 * MINUTE])
  })

  it('resends no more than its limit', async () => {
    const jobs = start()
    await begin(jobs, { ...DECLINED, limit: 70 })
    await pass(20 * SECOND)
    expect(resent).toHaveLength(70)
    expect(await jobs.status()).toMatchObject({ entries: 70, sent: 70, finished: expect.any(Number) })
  })

  it.each([
    ['the breaker of the upstream is open', 0, 0],
    ['other envelopes are pending', 1_000, 100],
  ])('waits while %s', async (_, takes, others) => {
    const jobs = start()
    capacity = takes
    pending = [pendingOf(others)]
    await begin(jobs)
    await pass(MINUTE)
    expect(resent).toEqual([])
    expect(await jobs.status()).toMatchObject({ sent: 0, waiting: expect.any(String) })
    capacity = 1_000
    pending = []
    await pass(SECOND)
    expect(resent.length).toBeGreaterThan(0)
    expect(await jobs.status()).not.toHaveProperty('waiting')
  })

  it('does not wait for a few entries, for another project, and for rate-limited categories', async () => {
    limited = ['session']
    pending = [pendingOf(20), pendingOf(500, 'session'), pendingOf(500, 'error', OTHER_PROJECT)]
    const jobs = start()
    await begin(jobs, { ...DECLINED, projects: [PROJECT] })
    await pass(2 * SECOND)
    expect(resent.length).toBeGreaterThan(0)
  })

  it('waits for a rate-limited category that it resends itself', async () => {
    limited = ['error']
    const jobs = start()
    await begin(jobs)
    await pass(2 * SECOND)
    pending = [pendingOf(resent.length + 100)]
    const before = resent.length
    await pass(MINUTE)
    expect(resent.length).toBe(before)
  })

  it('is stopped by any replica, and then sends nothing more', async () => {
    const jobs = start()
    await begin(jobs)
    await pass(2 * SECOND)
    expect(await jobs.begin(DECLINED, await jobs.count(DECLINED))).toBe(false)
    const stopped = await start('b').cancel()
    expect(stopped?.stopped).toBe(Date.now())
    await pass(SECOND)
    const before = resent.length
    await pass(MINUTE)
    expect(resent.length).toBe(before)
    expect(await jobs.status()).toMatchObject({ sent: before, stopped: stopped?.stopped })
    expect(await jobs.cancel()).toBeUndefined()
    await begin(jobs)
  })

  it('is run by one replica, and by another one when that is gone', async () => {
    const first = start('a')
    await begin(first)
    await pass(1.5 * SECOND)
    start('b')
    await pass(SECOND)
    expect(new Set(resent.map(({ replica }) => replica))).toEqual(new Set(['a']))
    await first.stop()
    const before = resent.length
    await pass(8 * SECOND)
    expect(resent.length).toBe(before)
    await pass(20 * SECOND)
    expect(resent).toHaveLength(MANY)
    expect(resent.at(-1)?.replica).toBe('b')
    expect(await first.status()).toMatchObject({ sent: MANY, finished: expect.any(Number) })
  })
})
