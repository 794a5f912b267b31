/** Sharing of the use of quotas, with a store in memory. */

import { beforeEach, describe, expect, it } from 'vitest'
import type { SharedState } from '../../../../tunnel/src/pipeline/shared-state.ts'
import { QuotaSharing } from '../../../../tunnel/src/policy/quota/quota-sharing.ts'
import { Quotas } from '../../../../tunnel/src/policy/quota/quotas.ts'

const HOUR = 60 * 60_000
const DAY = 24 * HOUR
const NOON = Date.UTC(2026, 10, 23, 12)
const KEY = {
  project: 'sentry.example/1',
  category: 'error',
  period: 'day',
  start: NOON - 12 * HOUR,
} as const

/** Store of which the next write can fail before or after it takes effect. */
class MemoryValues implements Pick<SharedState, 'get' | 'put'> {
  failure: 'none' | 'before' | 'after' = 'none'
  writes = 0
  value: string | undefined
  #revision = 0

  async get() {
    return { value: this.value, revision: this.#revision }
  }

  async put(_: string, value: string, revision: number) {
    const { failure } = this
    this.failure = 'none'
    if (failure === 'before') throw new Error('the store is away')
    if (revision !== this.#revision) return false
    this.#revision++
    this.writes++
    this.value = value
    if (failure === 'after') throw new Error('the response was lost')
    return true
  }
}

describe('QuotaSharing', () => {
  let time: number
  let values: MemoryValues
  let logged: string[]

  beforeEach(() => {
    time = NOON
    values = new MemoryValues()
    logged = []
  })

  function open(replica: string) {
    const now = () => time
    const deps = {
      now,
      random: () => 0,
      isFirstOccurrence: () => false,
      onRemoved: () => {},
      onCounted: () => {},
    }
    const quotas = new Quotas({ limits: { day: [], hour: [] }, mode: 'enforce' }, deps)
    const logger = {
      warn: (_: unknown, message?: string) => void logged.push(`warn ${message}`),
      info: (message: unknown) => void logged.push(`info ${message}`),
    }
    const sharing = new QuotaSharing({ state: values, quotas, replica, now, logger })
    return {
      quotas,
      count: (used: number, saved = 0) => quotas.counters.add(KEY, used, saved),
      exchange: () => sharing.exchange(),
      stop: () => sharing.stop(),
      use: () => quotas.counters.read(KEY),
    }
  }

  it('adds up what all replicas have counted', async () => {
    const [a, b] = [open('a'), open('b')]
    a.count(3, 1)
    b.count(4)
    for (const each of [a, b, a]) await each.exchange()
    expect([a.use(), b.use()]).toEqual(Array(2).fill({ used: 7, saved: 1 }))
  })

  it('writes once for many envelopes, and nothing without one', async () => {
    const a = open('a')
    for (let i = 0; i < 1_000; i++) a.count(1)
    await a.exchange()
    await a.exchange()
    expect([values.writes, a.use().used]).toEqual([1, 1_000])
  })

  it('keeps what is counted while it writes', async () => {
    const a = open('a')
    a.count(1)
    const exchange = a.exchange()
    a.count(2)
    await exchange
    expect(a.use().used).toBe(3)
    await a.exchange()
    expect(a.use().used).toBe(3)
    expect(JSON.parse(values.value ?? '').uses).toMatchObject([{ used: 3 }])
  })

  it('continues after a restart', async () => {
    const a = open('a')
    a.count(5)
    await a.stop()
    const next = open('a-2')
    await next.exchange()
    expect(next.use().used).toBe(5)
  })

  it.each(['before', 'after'] as const)(
    'counts once when the store fails %s it has written',
    async (failure) => {
      const a = open('a')
      a.count(5)
      values.failure = failure
      await a.exchange()
      expect(a.use().used).toBe(5)
      a.count(2)
      await a.exchange()
      await a.exchange()
      expect(a.use().used).toBe(7)
      const other = open('b')
      await other.exchange()
      expect(other.use().used).toBe(7)
    },
  )

  it('loses nothing when replicas write at the same time', async () => {
    const replicas = Array.from({ length: 4 }, (_, n) => open(`r${n}`))
    for (let round = 0; round < 20; round++) {
      for (const replica of replicas) replica.count(1)
      await Promise.all(replicas.map(({ exchange }) => exchange()))
    }
    for (const replica of replicas) await replica.exchange()
    expect(replicas.map(({ use }) => use().used)).toEqual(Array(4).fill(80))
  })

  it('takes back what was not delivered', async () => {
    const a = open('a')
    a.count(5)
    await a.exchange()
    a.count(-2)
    await a.exchange()
    expect([a.use().used, JSON.parse(values.value ?? '').uses[0].used]).toEqual([3, 3])
  })

  it('knows the number of replicas that count', async () => {
    const [a, b] = [open('a'), open('b')]
    for (const each of [a, b, a]) {
      each.count(1)
      await each.exchange()
    }
    expect([a.quotas.replicas, b.quotas.replicas]).toEqual([2, 2])
    time += 10_000
    a.count(1)
    await a.exchange()
    expect(a.quotas.replicas).toBe(1)
  })

  it('forgets days before yesterday, and replicas that are gone', async () => {
    const a = open('a')
    a.count(1)
    await a.exchange()
    time += 2 * DAY
    const b = open('b')
    for (let i = 0; i < 2; i++) {
      b.quotas.counters.add({ ...KEY, start: KEY.start + 2 * DAY }, 1, 0)
      await b.exchange()
    }
    const { writers, uses } = JSON.parse(values.value ?? '')
    expect([Object.keys(writers), uses.length]).toEqual([['b'], 1])
  })

  it('keeps the most used of too many counters', async () => {
    const a = open('a')
    for (let n = 0; n < 4_100; n++) a.quotas.counters.add({ ...KEY, project: `p/${n}` }, n, 0)
    await a.exchange()
    expect(values.value?.length).toBeLessThan(300_000)
    const { uses } = JSON.parse(values.value ?? '')
    expect(uses.length).toBeGreaterThan(1_000)
    expect(uses.map(({ used }: { used: number }) => used)).toEqual(
      uses.map((_: unknown, n: number) => 4_099 - n),
    )
  })

  it('keeps the use of today when the clock of a replica is days ahead', async () => {
    const [a, b] = [open('a'), open('b')]
    for (let i = 0; i < 3; i++) {
      a.count(1)
      await a.exchange()
      time += 3 * DAY
      b.quotas.counters.add({ ...KEY, start: KEY.start + 3 * DAY }, 1, 0)
      await b.exchange()
      time -= 3 * DAY
    }
    await a.exchange()
    expect(a.use().used).toBe(3)
  })

  it.each([
    undefined,
    'broken',
    'null',
    '{}',
    '{"writers":{},"uses":[{}]}',
    '{"writers":{"a":null},"uses":[]}',
  ])('continues from what it knows when the value is %s', async (value) => {
    const a = open('a')
    a.count(5)
    await a.exchange()
    values.value = value
    await a.exchange()
    expect(a.use().used).toBe(5)
    a.count(1)
    await a.exchange()
    expect(a.use().used).toBe(6)
    const other = open('b')
    await other.exchange()
    expect(other.use().used).toBe(6)
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

  it('shares everything at stop, also what was counted after an uncertain batch', async () => {
    const a = open('a')
    a.count(5)
    values.failure = 'after'
    await a.exchange()
    a.count(2)
    await a.stop()
    expect(JSON.parse(values.value ?? '').uses).toMatchObject([{ used: 7 }])
  })

  it('begins anew when a new replica cannot read the value', async () => {
    values.value = 'broken'
    const a = open('a')
    a.count(1)
    await a.exchange()
    expect(JSON.parse(values.value).uses).toMatchObject([{ used: 1 }])
  })
})
