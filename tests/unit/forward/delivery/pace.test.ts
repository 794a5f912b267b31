/** Rate of retries towards a Sentry that has just come back. */

import { beforeEach, describe, expect, it } from 'vitest'
import { Pace } from '../../../../tunnel/src/forward/delivery/pace.ts'

describe('Pace', () => {
  let time: number
  let pace: Pace

  beforeEach(() => {
    time = 50_000
    pace = new Pace(() => time)
  })

  /** Starts as many as allowed for `seconds`, every 10 ms, and returns their number. */
  const begin = (seconds: number, after: () => void = () => {}) => {
    let begun = 0
    for (const end = time + seconds * 1000; time < end; time += 10) {
      const many = pace.allowance(0)
      pace.spend(many)
      begun += many
      if (many > 0) after()
    }
    return begun
  }

  it('allows 20 a second at first, and stays there without results', () => {
    expect(begin(1)).toBeGreaterThanOrEqual(19)
    expect(begin(10)).toBeLessThanOrEqual(201)
    expect(pace.perSecond()).toBe(20)
  })

  it('never exceeds the maximum rate', () => {
    pace = new Pace(() => time, 2.5)
    expect(begin(10, () => pace.increase('prompt'))).toBeLessThanOrEqual(26)
    expect(pace.perSecond()).toBe(2.5)
    pace.decrease()
    expect(pace.perSecond()).toBe(2.5)
  })

  it('doubles the rate once for each second with successes', () => {
    const rates: number[] = []
    for (let second = 0; second < 5; second++) {
      rates.push(pace.perSecond())
      time += 999
      for (let i = 0; i < 100; i++) pace.increase('prompt')
      expect(pace.perSecond()).toBe(rates.at(-1))
      time += 1
      for (let i = 0; i < 100; i++) pace.increase('prompt')
    }
    expect(rates).toEqual([20, 40, 80, 160, 320])
  })

  it('allows as many starts as its rate', () => {
    const begun = Array.from({ length: 6 }, () => begin(1, () => pace.increase('prompt')))
    const expected = [20, 40, 80, 160, 320, 640]
    for (const [i, many] of begun.entries()) {
      expect(many).toBeGreaterThan((expected[i] ?? 0) * 0.7)
      expect(many).toBeLessThan((expected[i] ?? 0) * 2.1)
    }
  })

  it('allows at most 10,000 a second', () => {
    for (let second = 0; second < 30; second++) {
      time += 1_000
      pace.increase('prompt')
    }
    expect(pace.perSecond()).toBe(10_000)
  })

  it('halves the rate with each failure, to 20 at least', () => {
    for (let second = 0; second < 4; second++) {
      time += 1_000
      pace.increase('prompt')
    }
    const rates = Array.from({ length: 6 }, () => {
      pace.decrease()
      return pace.perSecond()
    })
    expect(rates).toEqual([160, 80, 40, 20, 20, 20])
  })

  describe('bounds the attempts under way:', () => {
    /** Begins as many as allowed at once, and ends each with `after`. */
    const round = (after: () => void) => {
      time += 1_000
      const many = pace.allowance(0)
      for (let n = 0; n < many; n++) after()
      return many
    }
    const prompt = () => pace.increase('prompt')
    const slow = () => pace.increase('slow')

    it('one at first, twice as many after each round of prompt responses', () => {
      expect(Array.from({ length: 4 }, () => round(prompt))).toEqual([1, 2, 4, 8])
      expect(pace.allowance(64)).toBe(0)
    })

    it('one more after a round of slow responses', () => {
      expect(Array.from({ length: 3 }, () => round(prompt))).toEqual([1, 2, 4])
      time += 1_000
      for (let n = 0; n < 8; n++) slow()
      expect(pace.allowance(6)).toBe(2)
      expect(pace.allowance(8)).toBe(0)
      slow()
      expect(pace.allowance(8)).toBe(1)
    })

    it('half as many after a failure, and one at least', () => {
      for (let n = 0; n < 7; n++) prompt()
      time += 1_000
      pace.decrease()
      expect([pace.allowance(3), pace.allowance(4)]).toEqual([1, 0])
      for (let n = 0; n < 9; n++) pace.decrease()
      expect([pace.allowance(0), pace.allowance(1)]).toEqual([1, 0])
    })
  })

  it('does not double within 1 s after a failure', () => {
    time += 1_000
    pace.decrease()
    time += 999
    pace.increase('prompt')
    expect(pace.perSecond()).toBe(20)
    time += 1
    pace.increase('prompt')
    expect(pace.perSecond()).toBe(40)
  })

  it('allows at most 250 ms worth of starts after an hour without any', () => {
    for (let n = 0; n < 9; n++) pace.increase('prompt')
    time += 3_600_000
    expect(pace.allowance(0)).toBeLessThanOrEqual(5)
  })

  it('allows nothing more after its allowance is spent, until time passes', () => {
    for (let n = 0; n < 9; n++) pace.increase('prompt')
    time += 1_000
    pace.spend(pace.allowance(0))
    expect(pace.allowance(0)).toBe(0)
  })
})
