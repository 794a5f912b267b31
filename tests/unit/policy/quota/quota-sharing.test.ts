/** Sharing of the use of quotas, with a store in memory. */

import { beforeEach, describe, expect, it } from 'vitest'
import { QuotaSharing } from '../../../../tunnel/src/policy/quota/quota-sharing.ts'
import { Quotas } from '../../../../tunnel/src/policy/quota/quotas.ts'
import { envelopeWith } from '../../../support/read-envelope.ts'
import { MemoryValues } from '../../../support/spool/memory-values.ts'

const HOUR = 60 * 60_000
const DAY = 24 * HOUR
const NOON = Date.UTC(2026, 10, 23, 12)
const PROJECT = 'sentry.example/1'
const MANY = 400 // projects
const MINUTE = 60_000
const QUOTA = { category: 'error', limit: 1_000_000 }

describe('QuotaSharing', () => {
  let time: number
  let values: MemoryValues
  let logged: string[]

  beforeEach(() => {
    time = NOON
    values = new MemoryValues()
    logged = []
  })

  function open(replica: string, { aheadMs = 0 } = {}) {
    const now = () => time + aheadMs
    const limits = { day: [QUOTA], hour: [{ ...QUOTA, category: 'session' }] }
    const quotas = new Quotas({ limits, mode: 'enforce' }, { now, onRemoved: () => {} })
    const logger = {
      warn: (first: unknown, message = first) => void logged.push(`warn ${message}`),
      info: (message: unknown) => void logged.push(`info ${message}`),
    }
    const sharing = new QuotaSharing({ state: values, quotas, replica, now, logger })
    return {
      /** Returns a function that takes back what was counted. */
      count(number: number, type = 'event', project = PROJECT) {
        const all = Array.from(
          { length: number },
          () => quotas.charge({ project, network: '' }, envelopeWith(type)).charges,
        )
        return () => {
          for (const charges of all) for (const its of charges.values()) quotas.takeBack(its)
        }
      },
      countOfMany() {
        for (let n = 0; n < MANY; n++) this.count(1, 'event', `sentry.example/${n}`)
      },
      exchange: () => sharing.exchange(),
      stop: () => sharing.stop(),
      use: (period = 'day', project = PROJECT) =>
        quotas.describe([project]).find((quota) => quota.period === period)?.used,
    }
  }

  it('adds up what all replicas have counted', async () => {
    const [a, b] = [open('a'), open('b')]
    a.count(3)
    b.count(4)
    b.count(2, 'session')
    for (const each of [a, b, a]) await each.exchange()
    expect([a.use(), b.use(), a.use('hour')]).toEqual([7, 7, 2])
  })

  it('writes once for many envelopes, and nothing without one', async () => {
    const a = open('a')
    a.count(1_000)
    await a.exchange()
    await a.exchange()
    expect([values.writes, a.use()]).toEqual([1, 1_000])
  })

  it('keeps what is counted while it writes', async () => {
    const a = open('a')
    a.count(1)
    const exchange = a.exchange()
    a.count(2)
    await exchange
    expect(a.use()).toBe(3)
    await a.exchange()
    const b = open('b')
    await b.exchange()
    expect(b.use()).toBe(3)
  })

  it('continues after a restart', async () => {
    const a = open('a')
    a.count(5)
    await a.stop()
    const next = open('a-2')
    await next.exchange()
    next.count(1)
    expect(next.use()).toBe(6)
  })

  it.each(['before', 'after'] as const)(
    'counts once when the store fails %s it has written',
    async (failure) => {
      const a = open('a')
      a.count(5)
      values.failure = failure
      await a.exchange()
      expect(a.use()).toBe(5)
      a.count(2)
      await a.exchange()
      const other = open('b')
      await other.exchange()
      expect([a.use(), other.use()]).toEqual([7, 7])
    },
  )

  it('loses nothing when replicas write at the same time', async () => {
    const replicas = Array.from({ length: 4 }, (_, n) => open(`r${n}`))
    for (let round = 0; round < 20; round++) {
      for (const replica of replicas) replica.count(1)
      await Promise.all(replicas.map(({ exchange }) => exchange()))
    }
    for (const replica of replicas) await replica.exchange()
    expect(replicas.map(({ use }) => use())).toEqual(Array(4).fill(80))
  })

  it('takes back what was not delivered', async () => {
    const [a, b] = [open('a'), open('b')]
    const takeBack = a.count(5)
    await a.exchange()
    takeBack()
    for (const each of [a, b]) await each.exchange()
    expect([a.use(), b.use()]).toEqual([0, 0])
  })

  it('begins anew with the day, and forgets replicas that are gone', async () => {
    const a = open('a')
    a.count(1)
    await a.exchange()
    time += DAY
    const b = open('b')
    b.count(1)
    await b.exchange()
    expect([a.use(), b.use()]).toEqual([0, 1])
    expect(values.value).not.toContain('"a"')
  })

  it('begins anew with the day and the hour before the next exchange', async () => {
    const [a, b] = [open('a'), open('b')]
    a.count(3)
    a.count(2, 'session')
    for (const each of [a, b]) await each.exchange()
    expect([b.use(), b.use('hour')]).toEqual([3, 2])
    time += HOUR
    expect([b.use(), b.use('hour')]).toEqual([3, 0])
    time += 11 * HOUR
    expect([b.use(), b.use('hour')]).toEqual([0, 0])
  })

  it('keeps the use of today when the clock of a replica is days ahead', async () => {
    const [a, b] = [open('a'), open('b', { aheadMs: 3 * DAY })]
    for (let i = 0; i < 3; i++)
      for (const each of [a, b]) {
        each.count(1)
        await each.exchange()
      }
    const other = open('c')
    await other.exchange()
    expect(a.use()).toBe(3)
  })

  it.each([undefined, 'broken', 'null'])(
    'continues from what it has counted when the value is %s',
    async (value) => {
      const a = open('a')
      a.count(5)
      await a.exchange()
      values.value = value
      await a.exchange()
      const other = open('b')
      await other.exchange()
      expect([a.use(), other.use()]).toEqual([5, 5])
    },
  )

  it('knows the use of all processes of a day, however many there were', async () => {
    for (let n = 0; n < 30; n++) {
      const replica = open(`r${n}`)
      replica.countOfMany()
      await replica.stop()
      time += 2 * MINUTE
    }
    const next = open('next')
    await next.exchange()
    expect(next.use()).toBe(30)
    expect(logged).toEqual([])
  })

  it('counts the use of a replica once that was away while others ended', async () => {
    const a = open('a')
    let expected = 0
    const takeBack = a.count(1)
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 3; n++) {
        a.countOfMany()
        await a.exchange()
        time += 2 * MINUTE
        const ended = open(`${round} ${n}`)
        ended.countOfMany()
        await ended.exchange()
        expected += 2
        a.count(3)
        values.failure = n === 0 ? 'after' : 'none'
        await a.exchange()
        await a.exchange()
        expected += 3
        const b = open('b')
        await b.exchange()
        expect([a.use(), b.use()]).toEqual([expected + 1, expected + 1])
      }
    }
    time += 2 * MINUTE
    const b = open('b')
    b.count(1)
    await b.exchange()
    takeBack()
    for (const each of [a, b]) await each.exchange()
    expect([a.use(), b.use()]).toEqual([expected + 1, expected + 1])
  })

  it('counts once what several replicas find when others have ended', async () => {
    const ended = Array.from({ length: 5 }, (_, n) => open(`ended ${n}`))
    for (const each of ended) {
      each.countOfMany()
      await each.exchange()
    }
    time += 2 * MINUTE
    for (const each of ended.slice(2)) each.count(1)
    const others = [...ended.slice(2), open('b'), open('c')]
    await Promise.all(others.map(({ exchange }) => exchange()))
    for (const each of [...ended, ...others]) await each.exchange()
    expect([...ended, ...others].map(({ use }) => use())).toEqual(Array(10).fill(8))
  })

  it('shares what fits, and logs once that replicas count too much', async () => {
    const [a, b] = [open('a'), open('b')]
    for (let round = 0; round < 3; round++)
      for (const each of [a, b]) {
        for (let n = 0; n < 3_000; n++) each.count(1, 'event', `sentry.example/${n}`)
        await each.exchange()
      }
    await a.exchange()
    const last = open('last')
    await last.exchange()
    const lastProject = 'sentry.example/2999'
    expect([a.use(), b.use(), last.use()]).toEqual([6, 6, 6])
    expect([a, b, last].map(({ use }) => use('day', lastProject))).toEqual([3, 3, 0])
    expect(logged).toEqual(
      Array(2).fill('warn replicas count too many projects and categories to share the use of all quotas'),
    )
  })

  it('logs once that the store fails, and once that it works again', async () => {
    const a = open('a')
    for (const failure of ['none', 'before', 'before', 'none', 'none'] as const) {
      a.count(1)
      values.failure = failure
      await a.exchange()
    }
    expect(logged).toEqual(['warn the use of quotas is not shared', 'info the use of quotas is shared again'])
  })

  it('shares everything at stop, also after a failure', async () => {
    const a = open('a')
    a.count(7)
    values.failure = 'before'
    await a.stop()
    const other = open('b')
    await other.exchange()
    expect(other.use()).toBe(7)
  })
})
