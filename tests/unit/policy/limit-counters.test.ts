/** Amounts by key that are forgotten with time. */

import { describe, expect, it } from 'vitest'
import { networksAround } from '../../../contract/networks.ts'
import { LimitCounters } from '../../../tunnel/src/policy/limit-counters.ts'

describe('LimitCounters', () => {
  it('subtract the rate from an amount, and never more than there is', () => {
    let time = 0
    const counters = new LimitCounters({ now: () => time, keys: 10, perSecond: 2 })
    expect(counters.read('a')).toBeUndefined()
    expect(counters.add('a', 5)).toBe(5)
    time += 1_500
    expect(counters.read('a')).toBe(2)
    time += 60_000
    expect(counters.add('a', 1)).toBe(1)
  })

  it.each([60_000, 30_000, -30_001])('begin anew in another window, after %i ms', (ms) => {
    let time = 90_000
    const counters = new LimitCounters({ now: () => time, keys: 10, windowMs: 60_000 })
    counters.add('a', 5)
    time += 29_999
    expect(counters.read('a')).toBe(5)
    time = 90_000 + ms
    expect(counters.read('a')).toBe(0)
    expect(counters.add('a', 1)).toBe(1)
  })

  it('list their keys with the amounts', () => {
    let time = 0
    const counters = new LimitCounters({ now: () => time, keys: 10, perSecond: 2 })
    counters.add('a', 5)
    counters.add('b', 3)
    time += 1_000
    expect([...counters.entries()]).toEqual([
      ['a', 3],
      ['b', 1],
    ])
  })

  it('take back no more than was counted', () => {
    const counters = new LimitCounters({ now: () => 0, keys: 10, perSecond: 0 })
    counters.add('a', 5)
    expect([counters.add('a', -2), counters.add('a', -9)]).toEqual([3, 0])
  })

  it('remember the keys that were used last, and at most twice as many', () => {
    const counters = new LimitCounters({ now: () => 0, keys: 100, perSecond: 0 })
    for (let n = 0; n < 1_000; n++) {
      counters.add(`key ${n}`, 1)
      expect(counters.read('key 0')).toBe(1) // used again just now
      expect(counters.size).toBeLessThanOrEqual(200)
    }
    for (let n = 999; n > 900; n--) expect(counters.read(`key ${n}`)).toBe(1)
    expect(counters.read('key 1')).toBeUndefined()
  })

  it('count a network with those around it, which may have more', () => {
    const counters = new LimitCounters({ now: () => 0, keys: 10, perSecond: 0 })
    const [a, b] = ['2a00:0001:0001:0001', '2a00:0001:0001:0002'].map(networksAround)
    if (!a || !b) throw new Error('there are no networks')
    expect(counters.addToAll(a, 8)).toBe(8)
    expect([counters.wouldExceed(a, 2, 10), counters.wouldExceed(a, 3, 10)]).toEqual([false, true])
    expect([counters.wouldExceed(b, 10, 10), counters.wouldExceed(b, 11, 10)]).toEqual([false, true])
    expect(counters.addToAll(b, 10)).toBe(10)
    expect(counters.wouldExceed(a, 2, 10)).toBe(false)
    expect(counters.wouldExceed(a, 3, 10)).toBe(true)
    expect([counters.addToAll([], 1), counters.wouldExceed([], 1, 0)]).toEqual([0, false])
  })
})
