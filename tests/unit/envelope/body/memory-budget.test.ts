/** Memory budget of bodies, and its waiting requests. */

import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { MemoryBudget, OutOfMemoryBudget } from '../../../../tunnel/src/envelope/body/memory-budget.ts'
import { MonitoredSpool } from '../../../../tunnel/src/forward/monitored-spool.ts'
import { openSqliteSpool } from '../../../../tunnel/src/store/sqlite/sqlite-spool.ts'
import { inOne, LONG_MS, PLENTY, spoolEntryOf } from '../../../support/spool/entries.ts'
import { inPieces } from '../../../support/spool/operations.ts'
import { makeFolder } from '../../../support/temporary-folder.ts'

describe('MemoryBudget', () => {
  afterEach(() => vi.useRealTimers())

  it('grants free memory to the longest waiting request that fits, and serves larger ones when memory is released', async () => {
    const memory = new MemoryBudget(100, 0)
    memory.reserve(40)
    const lent: string[] = []
    const borrow = async (name: string, bytes: number) => {
      const giveBack = await memory.acquire(bytes, LONG_MS)
      lent.push(name)
      return giveBack
    }
    const first = borrow('first', 50)
    const second = borrow('second', 20)
    void borrow('third', 5)
    await nextTurn()
    expect(lent).toEqual(['first', 'third'])
    expect(memory.usedBytes()).toBe(95)
    memory.release(40)
    await nextTurn()
    expect(lent).toEqual(['first', 'third', 'second'])
    for (const giveBack of await Promise.all([first, second])) giveBack()
    expect(memory.usedBytes()).toBe(5)
  })

  it('still grants small requests, or a single large one, when the budget is exceeded', async () => {
    const memory = new MemoryBudget(10, 100)
    memory.reserve(1_000)
    expect(memory.isExceeded()).toBe(true)
    const small = await Promise.all([memory.acquire(50, LONG_MS), memory.acquire(50, LONG_MS)])
    let isLent = false
    const large = memory.acquire(500, LONG_MS).then(() => {
      isLent = true
    })
    small[0]()
    await nextTurn()
    expect(isLent).toBe(false)
    small[1]()
    await large
    expect(memory.usedBytes()).toBe(1_500)
  })

  it('keeps a quarter of the reserve for small bodies while large ones wait', async () => {
    const MIB = 1024 * 1024
    const memory = new MemoryBudget(0, 8 * MIB)
    memory.reserve(1)
    const large: (() => void)[] = []
    for (let n = 0; n < 20; n++) void memory.acquire(MIB, LONG_MS).then((giveBack) => large.push(giveBack))
    const giveBack = await memory.acquire(4_000, LONG_MS)
    expect(large).toHaveLength(6)
    giveBack()
    while (large.length > 0) {
      large.pop()?.()
      await nextTurn()
    }
    expect(memory.usedBytes()).toBe(1)
  })

  it('rejects a request after its wait time, and then serves the next one', async () => {
    const memory = new MemoryBudget(100, 0)
    const giveBack = await memory.acquire(60, LONG_MS)
    const large = memory.acquire(50, 10)
    const small = memory.acquire(40, LONG_MS)
    await expect(large).rejects.toThrow('too many bodies wait for memory')
    const giveSmallBack = await small
    expect(memory.usedBytes()).toBe(100)
    giveBack()
    giveSmallBack()
    expect(memory.usedBytes()).toBe(0)
  })

  it('lets spool entries of more than the budget be stored one after the other', async () => {
    const BYTES = 500_000
    const ROOM = 4 * BYTES
    await using folder = await makeFolder()
    const memory = new MemoryBudget(ROOM, BYTES)
    const store = await openSqliteSpool(join(folder.path, 'spool.db'), PLENTY)
    const putIntoStore = store.put.bind(store)
    let [putting, most] = [0, 0]
    store.put = (...args) => {
      most = Math.max(most, ++putting)
      return putIntoStore(...args).finally(() => putting--)
    }
    const spool = new MonitoredSpool({
      store,
      memory,
      clock: () => performance.now(),
      now: Date.now,
      onHealthChange: () => expect.unreachable(),
    })
    const put = async (n: number) => {
      const body = Buffer.alloc(BYTES, n)
      return spool.put(await spoolEntryOf(body), inPieces(body), 0)
    }
    const results = await Promise.all(Array.from({ length: 40 }, (_, n) => put(n)))
    expect(results.filter(({ kind }) => kind === 'stored')).toHaveLength(40)
    expect(most * BYTES).toBe(ROOM)
    expect(memory.usedBytes()).toBe(0)
    await spool.close()
  })

  it('delays a put into the spool for 10 s without free memory, and leaves the spool writable', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await using folder = await makeFolder()
    const memory = new MemoryBudget(0, 0)
    const giveBack = await memory.acquire(1, LONG_MS)
    const spool = new MonitoredSpool({
      store: await openSqliteSpool(join(folder.path, 'spool.db'), PLENTY),
      memory,
      clock: () => performance.now(),
      now: Date.now,
      onHealthChange: () => expect.unreachable(),
    })
    const body = Buffer.from('an envelope')
    const refused = expect(spool.put(await spoolEntryOf(body), inOne(body), 0)).rejects.toThrow(
      OutOfMemoryBudget,
    )
    await vi.advanceTimersByTimeAsync(10_000)
    await refused
    expect(spool.health()).toMatchObject({ writable: true })
    giveBack()
    expect(await spool.put(await spoolEntryOf(body), inOne(body), 0)).toMatchObject({ kind: 'stored' })
    await spool.close()
  })
})
