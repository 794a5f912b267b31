/** Circuit breaker of an upstream. */

import { beforeEach, describe, expect, it } from 'vitest'
import { Breaker, type RequestResult } from '../../../../tunnel/src/forward/upstream/breaker.ts'
import type { Sender } from '../../../../tunnel/src/forward/upstream/failures.ts'

const SENDER = { project: 'a', network: '' }

describe('Breaker', () => {
  let time: number
  let breaker: Breaker

  beforeEach(() => {
    time = 100_000
    breaker = new Breaker(() => time)
  })

  const note = (verdict: RequestResult, times = 1) => {
    for (let i = 0; i < times; i++) breaker.note(verdict, SENDER)
  }
  const isOpen = () => breaker.isOpen()
  /** Returns whether a request may be sent now: always while the breaker is closed, as a probe while it is open. */
  const ask = () => !breaker.isOpen() || breaker.mayProbe()

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

  it.each<RequestResult>(['prompt', 'slow'])(
    'counts failures in a row from 0 after a decision that was %s',
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
    note('unreachable', 4)
    expect(isOpen()).toBe(false)
    note('unreachable')
    expect(isOpen()).toBe(true)
  })

  it('does not open for failures while other requests pass', () => {
    for (let i = 0; i < 20; i++) {
      note('failed', 20)
      note('prompt')
      time += 1_000
      expect(isOpen()).toBe(false)
    }
    note('failed', 20)
    expect(isOpen()).toBe(false)
    time += 10_000
    note('failed', 1)
    expect(isOpen()).toBe(true)
  })

  it('opens after five requests in a row without a connection, also when others have just passed', () => {
    note('prompt', 20)
    note('unreachable', 4)
    expect(isOpen()).toBe(false)
    note('unreachable')
    expect(isOpen()).toBe(true)
  })

  it('takes envelopes from the spool while responses are slow, and none while they fail', () => {
    note('late', 10)
    expect([isOpen(), breaker.isDeciding()]).toEqual([true, false])
    note('slow')
    expect([isOpen(), breaker.isDeciding()]).toEqual([true, true])
    note('late')
    expect(breaker.isDeciding()).toBe(true)
    note('failed')
    expect(breaker.isDeciding()).toBe(false)
    note('prompt')
    expect([isOpen(), breaker.isDeciding()]).toEqual([false, true])
  })

  it('never opens for a complete 4xx, and closes after one', () => {
    note('refused', 100)
    expect(isOpen()).toBe(false)
    note('failed', 5)
    note('refused')
    expect(isOpen()).toBe(false)
  })

  describe('counts a request that hangs once:', () => {
    const hang = (sender: Sender = SENDER) => {
      breaker.note('late', sender)
      time += 8_000
      breaker.note('failed', sender, { after: 'late' })
    }

    it('a project and the upstream fail after five', () => {
      for (let i = 0; i < 4; i++) hang()
      expect([isOpen(), breaker.failures.isFailing('a')]).toEqual([false, false])
      hang()
      expect([isOpen(), breaker.failures.isFailing('a')]).toEqual([true, true])
    })

    it('an entry fails alone after three, and has as many failures as attempts', () => {
      const poison = { ...SENDER, entry: 'x' }
      const countOwn = () => {
        breaker.note('prompt', { project: 'a', network: '1' })
        return [breaker.failures.isOwn(poison), breaker.failures.ownFailures('x', 'a')]
      }
      for (let i = 0; i < 2; i++) hang(poison)
      expect(countOwn()).toEqual([false, 2])
      hang(poison)
      expect(countOwn()).toEqual([true, 3])
    })

    it('as late, so that it does not lower their share', () => {
      note('prompt', 4)
      for (let i = 0; i < 5; i++) {
        note('late')
        breaker.note('failed', SENDER, { after: 'late' })
      }
      expect(isOpen()).toBe(false)
      note('late')
      expect(isOpen()).toBe(true)
    })

    it('with the response that came after all', () => {
      const poison = { ...SENDER, entry: 'x' }
      for (let i = 0; i < 2; i++) {
        breaker.note('late', poison)
        breaker.note('refused', poison, { refusing: { status: 403 }, after: 'late' })
      }
      expect(breaker.failures.refusal('x')).toMatchObject({ status: 403, count: 2 })
    })
  })

  describe('with several senders', () => {
    const from = (network: string, project = 'a'): Sender => ({ project, network })
    const noteFrom = (sender: Sender, result: RequestResult, times = 1) => {
      for (let i = 0; i < times; i++) breaker.note(result, sender)
    }

    it('lets other networks through after it has opened for one, until many have failed', () => {
      noteFrom(from('1'), 'failed', 5)
      expect([isOpen(), breaker.holdsBack(from('1')), breaker.holdsBack(from('2'))]).toEqual([
        true,
        true,
        false,
      ])
      noteFrom(from('2'), 'failed')
      expect([breaker.holdsBack(from('2')), breaker.holdsBack(from('3'))]).toEqual([true, false])
      noteFrom(from('3'), 'failed')
      expect([breaker.holdsBack(from('4')), breaker.holdsBack(from('4', 'b'))]).toEqual([true, false])
      for (const project of ['b', 'c']) noteFrom(from('4', project), 'late')
      expect(breaker.holdsBack(from('4', 'd'))).toBe(true)
    })

    it('holds all of them back when no connection can be made', () => {
      noteFrom(from('1'), 'unreachable', 5)
      expect(breaker.holdsBack(from('2'))).toBe(true)
    })

    it('blames a network, a project or an entry that fails while others pass, and no longer the upstream', () => {
      const poison = { ...from('1'), entry: 'x' }
      noteFrom(poison, 'failed', 5)
      noteFrom(from('2'), 'prompt')
      expect([isOpen(), breaker.failures.isOwn(poison)]).toEqual([false, true])
      time += 20_000 // nothing has passed in the last 10 s
      noteFrom(poison, 'failed', 100)
      noteFrom(from('1'), 'late', 100)
      expect([isOpen(), breaker.failures.isOwn(from('2'))]).toEqual([false, false])
      noteFrom(from('1'), 'prompt')
      expect(breaker.failures.isOwn(from('1'))).toBe(false)
    })

    it('counts failures alone anew after ten minutes, in which the server may have been away', () => {
      noteFrom(from('1'), 'failed', 2)
      noteFrom(from('2'), 'prompt')
      time += 10 * 60_000 + 1
      noteFrom(from('1'), 'failed')
      expect(breaker.failures.isOwn(from('1'))).toBe(false)
    })

    it('counts the refusals of an entry on for half an hour, since other replicas attempt it meanwhile', () => {
      const poison = { ...from('1'), entry: 'x' }
      const refuse = () => breaker.note('refused', poison, { refusing: { status: 403 } })
      refuse()
      time += 30 * 60_000
      refuse()
      expect(breaker.failures.refusal('x')).toMatchObject({ count: 2, first: 100_000, last: time })
      time += 30 * 60_000 + 1
      refuse()
      expect(breaker.failures.refusal('x')).toMatchObject({ count: 1 })
    })

    it('tries a project of which all envelopes fail once in 5 s, until one is decided on', () => {
      noteFrom(from('1'), 'refused', 5)
      const mayTry = () => breaker.failures.mayTry('a')
      expect([isOpen(), breaker.failures.isFailing('a'), mayTry(), mayTry()]).toEqual([
        false,
        true,
        true,
        false,
      ])
      time += 5_000
      expect([mayTry(), mayTry()]).toEqual([true, false])
      noteFrom(from(''), 'prompt')
      time += 5_000
      expect([breaker.failures.isFailing('a'), mayTry()]).toEqual([false, false])
    })

    it('lets one envelope in 5 s through from a public network that is to blame', () => {
      noteFrom(from('1'), 'failed', 5)
      noteFrom(from(''), 'failed', 5)
      noteFrom(from('2'), 'prompt')
      const isHeldBack = () => [from('1'), from('1'), from('')].map((each) => breaker.holdsBack(each))
      expect(isHeldBack()).toEqual([false, true, false])
      time += 5_000
      expect(isHeldBack()).toEqual([false, true, false])
      noteFrom(from('1'), 'prompt')
      expect(isHeldBack()).toEqual([false, false, false])
    })
  })
})
