/** Concurrent deliveries from the spool to one upstream. */

import { beforeEach, describe, expect, it } from 'vitest'
import { Concurrency } from '../../../../tunnel/src/forward/delivery/upstream-capacity.ts'

describe('Concurrency', () => {
  let concurrency: Concurrency

  beforeEach(() => {
    concurrency = new Concurrency()
  })

  /** Starts as many deliveries as allowed, ends each with `note`, and returns their number. */
  const round = (note: () => void): number => {
    const count = concurrency.allowance()
    concurrency.begin(count)
    for (let n = 0; n < count; n++) {
      concurrency.end()
      note()
    }
    return count
  }
  const good = () => concurrency.increase()

  it('starts with one delivery and doubles with each round of responses, up to 64', () => {
    expect(Array.from({ length: 8 }, () => round(good))).toEqual([1, 2, 4, 8, 16, 32, 64, 64])
  })

  it('starts no more deliveries until the first ones have a response', () => {
    round(good)
    concurrency.begin(2)
    expect(concurrency.allowance()).toBe(0)
    concurrency.end()
    expect(concurrency.allowance()).toBe(1)
  })

  it('halves on a failure, and then grows by one a round', () => {
    for (let n = 0; n < 5; n++) round(good)
    concurrency.decrease()
    expect(Array.from({ length: 3 }, () => round(good))).toEqual([16, 16, 17])
  })

  it('stays at one or above', () => {
    for (let n = 0; n < 20; n++) concurrency.decrease()
    expect(concurrency.allowance()).toBe(1)
  })

  it('reports that the upstream responds, until a failure and again after a response', () => {
    expect(concurrency.isResponding()).toBe(false)
    good()
    expect(concurrency.isResponding()).toBe(true)
    concurrency.decrease()
    expect(concurrency.isResponding()).toBe(false)
  })

  it('starts again with one delivery after a restart, and doubles again', () => {
    for (let n = 0; n < 5; n++) round(good)
    concurrency.decrease()
    concurrency.restart()
    expect(Array.from({ length: 7 }, () => round(good))).toEqual([1, 2, 4, 8, 16, 32, 64])
  })
})
