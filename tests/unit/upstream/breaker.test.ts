/** Circuit breaker of an upstream. */

import { beforeEach, describe, expect, it } from 'vitest'
import { Breaker, type RequestResult } from '../../../tunnel/src/upstream/breaker.ts'

describe('A breaker', () => {
  let time: number
  let breaker: Breaker

  beforeEach(() => {
    time = 100_000
    breaker = new Breaker(() => time)
  })

  const note = (verdict: RequestResult, times = 1) => {
    for (let i = 0; i < times; i++) breaker.note(verdict)
  }
  const isOpen = () => breaker.isOpen()
  /** Tells whether a request is sent now: any while the breaker is closed, a probe while it is open. */
  function ask(): boolean {
    if (!breaker.isOpen()) return true
    const probes = breaker.mayProbe()
    if (probes) breaker.spendProbe()
    return probes
  }

  it('is closed at first, and lets everybody through without a probe', () => {
    expect(breaker.mayProbe()).toBe(false)
    for (let i = 0; i < 100; i++) expect(ask()).toBe(true)
    expect(isOpen()).toBe(false)
  })

  it('opens after five failures in a row', () => {
    note('failed', 4)
    expect([isOpen(), ask()]).toEqual([false, true])
    note('failed')
    expect([isOpen(), ask()]).toEqual([true, false])
    expect(breaker.state()).toEqual({ open: true, since: time, nextProbe: time + 5_000 })
  })

  it('is overdue when nobody has probed for as long again as it waits for a probe', () => {
    note('failed', 5)
    time += 5_000
    expect([breaker.mayProbe(), breaker.isOverdue()]).toEqual([true, false])
    time += 5_000
    expect(breaker.isOverdue()).toBe(true)
    breaker.spendProbe()
    expect([breaker.mayProbe(), breaker.isOverdue()]).toEqual([false, false])
    time += 10_000
    note('prompt')
    expect([isOpen(), breaker.isOverdue()]).toEqual([false, false])
  })

  it.each<RequestResult>(['prompt', 'late'])(
    'counts failures from anew after an answer that was %s',
    (verdict) => {
      note('failed', 4)
      note(verdict)
      note('failed', 4)
      expect(isOpen()).toBe(false)
    },
  )

  it('opens when more than half of ten answers or more are late or failures', () => {
    note('prompt', 5)
    note('late', 5)
    expect(isOpen()).toBe(false)
    note('late')
    expect(isOpen()).toBe(true)
  })

  it('does not judge by fewer than ten', () => {
    note('late', 9)
    expect(isOpen()).toBe(false)
    note('late')
    expect(isOpen()).toBe(true)
  })

  it('forgets what is older than ten seconds', () => {
    note('late', 9)
    time += 10_000
    note('late')
    expect(isOpen()).toBe(false)
    note('late', 9)
    expect(isOpen()).toBe(true)
  })

  it('adds up what comes within ten seconds', () => {
    for (let second = 0; second < 10; second++) {
      expect(isOpen()).toBe(false)
      note('late')
      time += 900
    }
    expect(isOpen()).toBe(true)
  })

  it('lets one probe through every five seconds while it is open', () => {
    note('failed', 5)
    time += 4_999
    expect(ask()).toBe(false)
    time += 1
    expect([ask(), ask(), ask()]).toEqual([true, false, false])
    time += 5_000
    expect([ask(), ask()]).toEqual([true, false])
  })

  it.each<RequestResult>(['failed', 'late'])('stays open when the probe was %s', (verdict) => {
    note('failed', 5)
    time += 5_000
    ask()
    note(verdict)
    expect([isOpen(), ask()]).toEqual([true, false])
  })

  it('closes when the probe was answered promptly, and begins from anew', () => {
    note('failed', 5)
    time += 5_000
    ask()
    note('prompt')
    expect([isOpen(), ask(), ask()]).toEqual([false, true, true])
    note('failed', 4)
    expect(isOpen()).toBe(false)
    note('failed')
    expect(isOpen()).toBe(true)
  })
})
