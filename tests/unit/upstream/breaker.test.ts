/** Circuit breaker of an upstream. */

import { beforeEach, describe, expect, it } from 'vitest'
import { Breaker, type RequestResult } from '../../../tunnel/src/upstream/breaker.ts'

describe('Breaker', () => {
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
  /** Returns whether a request may be sent now: always while the breaker is closed, as a probe while it is open. */
  function ask(): boolean {
    if (!breaker.isOpen()) return true
    const probes = breaker.mayProbe()
    if (probes) breaker.spendProbe()
    return probes
  }

  it('is closed at first, and allows all requests without a probe', () => {
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

  it('is overdue when no probe was sent for twice the probe interval', () => {
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
    'counts failures in a row from 0 after a response that was %s',
    (verdict) => {
      note('failed', 4)
      note(verdict)
      note('failed', 4)
      expect(isOpen()).toBe(false)
    },
  )

  it('opens when more than half of at least ten results are late or failed', () => {
    note('prompt', 5)
    note('late', 5)
    expect(isOpen()).toBe(false)
    note('late')
    expect(isOpen()).toBe(true)
  })

  it('does not open because of fewer than ten results', () => {
    note('late', 9)
    expect(isOpen()).toBe(false)
    note('late')
    expect(isOpen()).toBe(true)
  })

  it('ignores results that are older than 10 s', () => {
    note('late', 9)
    time += 10_000
    note('late')
    expect(isOpen()).toBe(false)
    note('late', 9)
    expect(isOpen()).toBe(true)
  })

  it('sums up the results of 10 s', () => {
    for (let second = 0; second < 10; second++) {
      expect(isOpen()).toBe(false)
      note('late')
      time += 900
    }
    expect(isOpen()).toBe(true)
  })

  it('allows one probe every 5 s while it is open', () => {
    note('failed', 5)
    time += 4_999
    expect(ask()).toBe(false)
    time += 1
    expect([ask(), ask(), ask()]).toEqual([true, false, false])
    time += 5_000
    expect([ask(), ask()]).toEqual([true, false])
  })

  it.each<RequestResult>(['failed', 'late'])('stays open when a probe is %s', (verdict) => {
    note('failed', 5)
    time += 5_000
    ask()
    note(verdict)
    expect([isOpen(), ask()]).toEqual([true, false])
  })

  it('closes after a prompt response to a probe, and starts from 0', () => {
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
