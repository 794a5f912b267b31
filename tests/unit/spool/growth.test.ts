/** When the spool is full, if it goes on growing as in the last minutes. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type GrowingSpool, SAMPLE_MS, watchGrowth } from '../../../tunnel/src/spool/growth.ts'
import { createMemorySpool } from '../../support/spool/memory-spool.ts'

const BOUND = 1_000_000

describe('The time until the spool is full', () => {
  let bytes: number
  let spool: GrowingSpool

  beforeEach(() => {
    vi.useFakeTimers()
    bytes = 0
    const totals = async () => ({ envelopes: 0, bytes, byProject: [], paused: [] })
    const store = { ...createMemorySpool(Date.now), boundBytes: BOUND, totals }
    spool = watchGrowth(store, () => performance.now())
  })

  afterEach(async () => {
    await spool.close()
    vi.useRealTimers()
  })

  const grow = async (perSecond: number, seconds: number) => {
    for (let passed = 0; passed < seconds * 1_000; passed += SAMPLE_MS) {
      bytes += (perSecond * SAMPLE_MS) / 1_000
      await vi.advanceTimersByTimeAsync(SAMPLE_MS)
    }
  }

  it('is what is left, by the rate at which it grew', async () => {
    await grow(1_000, 60)
    expect(spool.fullIn(bytes)).toBeCloseTo((BOUND - bytes) / 1_000)
    expect(spool.fullIn(BOUND + 1)).toBe(0)
  })

  it('follows the last minutes, and forgets those before', async () => {
    await grow(1_000, 60)
    await grow(3_000, 180)
    expect(spool.fullIn(bytes)).toBeCloseTo((BOUND - bytes) / 3_000)
  })

  it('is absent while it does not grow, shrinks, or has just been opened', async () => {
    expect(spool.fullIn(bytes)).toBeUndefined()
    await grow(0, 60)
    expect(spool.fullIn(bytes)).toBeUndefined()
    bytes = 600_000
    await grow(-1_000, 300)
    expect(spool.fullIn(bytes)).toBeUndefined()
  })
})
