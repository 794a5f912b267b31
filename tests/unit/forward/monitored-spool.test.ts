/** Health, growth and totals of a spool. Its memory is tested in `tests/unit/envelope/body/memory-budget.test.ts`. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { MemoryBudget } from '../../../tunnel/src/envelope/body/memory-budget.ts'
import { MonitoredSpool, SAMPLE_MS, type SpoolHealth } from '../../../tunnel/src/forward/monitored-spool.ts'
import type { Spool, SpoolTotals } from '../../../tunnel/src/pipeline/spool.ts'
import { inOne, spoolEntryOf } from '../../support/spool/entries.ts'
import { createMemorySpool } from '../../support/spool/memory-spool.ts'

const BOUND = 1_000_000
const LIMITED = { maxBytes: BOUND, durability: 'unproven: in memory' }

function monitor(store: Spool, now = Date.now, onHealthChange = (_: SpoolHealth) => {}): MonitoredSpool {
  return new MonitoredSpool({
    store,
    memory: new MemoryBudget(BOUND, 0),
    clock: () => performance.now(),
    now,
    onHealthChange,
  })
}

describe('secondsUntilFull', () => {
  let bytes: number
  let spool: MonitoredSpool

  beforeEach(() => {
    vi.useFakeTimers()
    bytes = 0
    const totals = async () => ({ envelopes: 0, bytes, partitions: [], paused: [] })
    spool = monitor({ ...createMemorySpool(Date.now), describe: async () => LIMITED, totals })
  })

  afterEach(async () => {
    await spool.close()
    vi.useRealTimers()
  })

  it('uses the free space of the disk when it ends first, and ignores its slow changes', async () => {
    await spool.close()
    let freeBytes = 10_000_000
    const totals = async () => ({ envelopes: 0, bytes: 0, partitions: [], paused: [] })
    const onDisk = (free: number) => ({
      ...LIMITED,
      disk: { freeBytes: free, walBytes: 0, damagedFiles: [] },
    })
    const describe = async () => {
      freeBytes -= 100_000
      return onDisk(freeBytes)
    }
    spool = monitor({ ...createMemorySpool(Date.now), describe, totals })
    await grow(0, 60)
    expect(spool.secondsUntilFull(0, onDisk(freeBytes))).toBeCloseTo(
      (freeBytes / 100_000) * (SAMPLE_MS / 1_000),
    )
    expect(spool.secondsUntilFull(0, onDisk(1e12))).toBeUndefined()
  })

  const grow = async (perSecond: number, seconds: number) => {
    for (let passed = 0; passed < seconds * 1_000; passed += SAMPLE_MS) {
      bytes += (perSecond * SAMPLE_MS) / 1_000
      await vi.advanceTimersByTimeAsync(SAMPLE_MS)
    }
  }

  it('divides the remaining bytes by the growth rate', async () => {
    await grow(1_000, 60)
    expect(spool.secondsUntilFull(bytes, LIMITED)).toBeCloseTo((BOUND - bytes) / 1_000)
    expect(spool.secondsUntilFull(BOUND + 1, LIMITED)).toBe(0)
  })

  it('uses the rate of the last two minutes', async () => {
    await grow(1_000, 60)
    await grow(3_000, 180)
    expect(spool.secondsUntilFull(bytes, LIMITED)).toBeCloseTo((BOUND - bytes) / 3_000)
  })

  it('returns undefined when the spool does not grow, shrinks, or has just been opened', async () => {
    expect(spool.secondsUntilFull(bytes, LIMITED)).toBeUndefined()
    await grow(0, 60)
    expect(spool.secondsUntilFull(bytes, LIMITED)).toBeUndefined()
    bytes = 600_000
    await grow(-1_000, 300)
    expect(spool.secondsUntilFull(bytes, LIMITED)).toBeUndefined()
  })
})

describe('totals', () => {
  /** A spool whose store responds when the test says so. */
  function startSlow() {
    const asked: PromiseWithResolvers<SpoolTotals>[] = []
    const totals = () => {
      const answer = Promise.withResolvers<SpoolTotals>()
      asked.push(answer)
      return answer.promise
    }
    return { asked, spool: monitor({ ...createMemorySpool(Date.now), totals }) }
  }

  it('rejects after 1 s, then at once, and queries the store again only when the late response has arrived', async () => {
    vi.useFakeTimers()
    try {
      const told = await createMemorySpool(Date.now).totals()
      const { asked, spool } = startSlow()
      const first = spool.totals().catch(String)
      await vi.advanceTimersByTimeAsync(900)
      const second = spool.totals().catch(String)
      await vi.advanceTimersByTimeAsync(100)
      const late = 'Error: no response within 1 s'
      expect([await first, await second, await spool.totals().catch(String)]).toEqual([late, late, late])
      expect(asked).toHaveLength(1)
      asked[0]?.resolve(told)
      await asked[0]?.promise
      const again = spool.totals()
      asked[1]?.resolve(told)
      expect(await again).toEqual(told)
      await spool.close()
    } finally {
      vi.useRealTimers()
    }
  })

  it('do not keep a process running', async () => {
    const { asked, spool } = startSlow()
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const pending = spool.totals().catch(String)
    expect(timers.mock.results.map(({ value }) => value.hasRef())).toEqual([false])
    timers.mockRestore()
    asked[0]?.reject(new Error('closed'))
    expect(await pending).toBe('Error: closed')
    await spool.close()
  })
})

describe('health', () => {
  it('is probed at the start and while it is not writable, and is writable again after a successful probe', async () => {
    vi.useFakeTimers()
    const probed: (Error | undefined)[] = []
    const failures = [undefined, new Error('disk still full')]
    const store: Spool = {
      ...createMemorySpool(Date.now),
      put: () => Promise.reject(new Error('disk full')),
      async probe() {
        const failure = failures.shift()
        probed.push(failure)
        if (failure) throw failure
      },
    }
    const spool = monitor(store)
    try {
      await vi.advanceTimersByTimeAsync(2 * SAMPLE_MS)
      expect(probed).toEqual([undefined])
      const body = Buffer.from('an envelope')
      await expect(spool.put(await spoolEntryOf(body), inOne(body), 0)).rejects.toThrow('disk full')
      await vi.advanceTimersByTimeAsync(SAMPLE_MS)
      expect(spool.health()).toMatchObject({ writable: false, problem: 'disk still full' })
      await vi.advanceTimersByTimeAsync(SAMPLE_MS)
      expect(spool.health()).toEqual({ writable: true, since: Date.now() })
      await vi.advanceTimersByTimeAsync(2 * SAMPLE_MS)
      expect(probed).toHaveLength(3)
    } finally {
      await spool.close()
      vi.useRealTimers()
    }
  })

  it('is not writable from the first failed put until a put succeeds', async () => {
    const store = createMemorySpool(Date.now)
    const failures = [new Error('disk full'), new Error('disk gone')]
    let time = 1
    const put: Spool['put'] = async (...args) => {
      const failure = failures.shift()
      if (failure) throw failure
      return store.put(...args)
    }
    const changes: SpoolHealth[] = []
    const spool = monitor(
      { ...store, put },
      () => time,
      (health) => changes.push(health),
    )
    const body = Buffer.from('an envelope')
    const putOne = async () => spool.put(await spoolEntryOf(body), inOne(body), 0)
    expect(spool.health()).toEqual({ writable: true, since: 1 })
    time = 2
    await expect(putOne()).rejects.toThrow('disk full')
    expect(spool.health()).toEqual({ writable: false, since: 2, problem: 'disk full' })
    time = 3
    await expect(putOne()).rejects.toThrow('disk gone')
    expect(spool.health()).toEqual({ writable: false, since: 2, problem: 'disk gone' })
    time = 4
    await putOne()
    expect(spool.health()).toEqual({ writable: true, since: 4 })
    expect(changes).toEqual([
      { writable: false, since: 2, problem: 'disk full' },
      { writable: true, since: 4 },
    ])
    await spool.close()
  })
})

describe('A fault of the delivery', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('makes the spool ill until it has not occurred for a while', async () => {
    const changes: SpoolHealth[] = []
    const spool = monitor(createMemorySpool(Date.now), Date.now, (health) => changes.push(health))
    spool.noteFault(new Error('malformed'))
    expect(spool.health()).toMatchObject({ writable: false, problem: 'malformed' })
    await vi.advanceTimersByTimeAsync(SAMPLE_MS - 1)
    spool.noteFault(new Error('malformed'))
    await vi.advanceTimersByTimeAsync(SAMPLE_MS - 1) // a probe has succeeded meanwhile
    expect(spool.health().writable).toBe(false)
    await vi.advanceTimersByTimeAsync(2 * SAMPLE_MS)
    expect(changes.map(({ writable }) => writable)).toEqual([false, true])
    await spool.close()
  })

  it('is what the disk says about the file', async () => {
    const disk = { freeBytes: 1, walBytes: 0, damagedFiles: [], problem: 'deleted' }
    const describe = async () => ({ ...LIMITED, disk })
    const spool = monitor({ ...createMemorySpool(Date.now), describe })
    await vi.advanceTimersByTimeAsync(SAMPLE_MS)
    expect(spool.health()).toMatchObject({ writable: false, problem: 'deleted' })
    await spool.close()
  })
})
