/** Quotas as a stage: what they remove, count and announce. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { typesOf } from '../../../support/read-envelope.ts'
import { DAY, HOUR, NOON, QuotaTest, type Sent } from './fixtures.ts'

const ERROR = { type: 'event' }
const TRANSACTION = { type: 'transaction' }
const segment = (id: number, more: object = {}): Sent[] => [
  { type: 'replay_event', payload: JSON.stringify({ segment_id: id, replay_type: 'session', ...more }) },
  { type: 'replay_recording', length: 1, payload: '1' },
]

describe('A quota', () => {
  it('lets everything pass up to 80 %', () => {
    const test = new QuotaTest('error=100')
    expect(test.sendMany(80, ERROR)).toEqual({ delivered: 80 })
    expect(test.used('error')).toEqual({ used: 80, saved: 0 })
  })

  it('samples the more, the less is left of it, and never exceeds it', () => {
    const test = new QuotaTest('session=10000')
    test.sendMany(8_000, { type: 'session' })
    const shares = Array.from({ length: 10 }, () => {
      const { delivered = 0 } = test.sendMany(1_000, { type: 'session' })
      return delivered / 1_000
    })
    expect(shares[0]).toBeGreaterThan(0.7)
    expect(shares.toSorted((a, b) => b - a)).toEqual(shares)
    expect(shares.at(-1)).toBeLessThan(0.05)
    expect(test.used('session').used).toBeLessThanOrEqual(10_000)
  })

  it('used up, is answered with a rate limit on its category for a minute', () => {
    const test = new QuotaTest('error=10')
    test.isNew = true
    test.sendMany(10, ERROR)
    const { outcome, reason, status, headers } = test.send([ERROR])
    expect({ outcome, reason, status }).toEqual({ outcome: 'rate_limited', reason: 'quota', status: 429 })
    expect(headers['x-sentry-rate-limits']).toBe('60:error:key:tunnel')
    expect(headers).not.toHaveProperty('retry-after')
  })

  it('that has something left removes a larger item, without a limit on its category', () => {
    const test = new QuotaTest('attachment=1000')
    const attachment = (length: number) => ({ type: 'attachment', length, payload: 'x'.repeat(length) })
    test.send([attachment(700)])
    const ctx = test.pass([attachment(400), { type: 'session' }])
    expect([typesOf(ctx.remaining().items), ctx.ownLimits]).toEqual([['session'], []])
    expect(test.send([attachment(400)]).headers['x-sentry-rate-limits']).toMatch(/^1:attachment:/)
    expect(test.send([attachment(50)], { address: '203.0.113.7' }).outcome).toBe('delivered')
    expect(test.pass([attachment(1)], { address: '203.0.113.7' }).ownLimits).toHaveLength(1)
  })

  it('is announced only up to the end of its period', () => {
    const test = new QuotaTest('error=1')
    test.isNew = true
    test.time = NOON + 12 * HOUR - 1_500
    test.send([ERROR])
    expect(test.send([ERROR]).headers['x-sentry-rate-limits']).toBe('2:error:key:tunnel')
  })

  it('begins anew at midnight UTC, and an hourly one with the hour', () => {
    const test = new QuotaTest('error=20', { hourly: 'error=10' })
    test.isNew = true
    expect(test.sendMany(11, ERROR)).toEqual({ delivered: 10, 'rate_limited quota': 1 })
    test.time += HOUR
    expect(test.sendMany(11, ERROR)).toEqual({ delivered: 10, 'rate_limited quota': 1 })
    test.time += HOUR
    expect(test.sendMany(1, ERROR)).toEqual({ 'rate_limited quota': 1 })
    test.time = NOON + 12 * HOUR
    expect(test.sendMany(1, ERROR)).toEqual({ delivered: 1 })
    expect(test.used('error')).toEqual({ used: 1, saved: 0 })
  })

  it('counts each project separately', () => {
    const test = new QuotaTest('error=10,2:error=1')
    test.isNew = true
    test.sendMany(10, ERROR)
    expect(test.sendMany(2, ERROR, { project: 1 })).toEqual({ delivered: 1, 'rate_limited quota': 1 })
  })

  it('reserves 5 % of the errors for first occurrences', () => {
    const test = new QuotaTest('error=1000')
    const { delivered = 0 } = test.sendMany(20_000, ERROR)
    expect(delivered).toBeGreaterThan(900)
    expect(delivered).toBeLessThanOrEqual(950)
    test.isNew = true
    expect(test.sendMany(1_000, ERROR).delivered).toBe(1_000 - delivered)
  })

  it('does not tell SDKs to hold errors back while new ones may pass', () => {
    const test = new QuotaTest('error=100')
    expect(Object.keys(test.sendMany(5_000, ERROR)).sort()).toEqual(['delivered', 'filtered quota-sampled'])
  })

  it('removes the attachments of an error, and announces no limit on attachments', () => {
    const test = new QuotaTest('error=1')
    test.isNew = true
    test.send([ERROR])
    const items = [ERROR, { type: 'attachment', length: 2 }]
    expect(test.send(items).headers['x-sentry-rate-limits']).toBe('60:error:key:tunnel')
    expect(typesOf(test.pass([...items, { type: 'session' }]).remaining().items)).toEqual(['session'])
  })

  it('counts spans and bytes, not items', () => {
    const test = new QuotaTest('span=100,attachment=1000')
    const spans = { type: 'span', item_count: 30, payload: 'x'.repeat(100) }
    test.send([spans, { type: 'attachment', length: 200, payload: 'x'.repeat(200) }])
    expect(test.used('span').used).toBe(30)
    expect(test.used('attachment').used).toBe(200)
  })

  it('keeps or removes all transactions and spans of a trace', () => {
    const test = new QuotaTest('transaction=1000,span=1000')
    test.sendMany(900, TRANSACTION, { header: { trace: { trace_id: '0'.repeat(32) } } })
    test.sendMany(900, { type: 'span' }, { header: { trace: { trace_id: '0'.repeat(32) } } })
    const ids = Array.from({ length: 10 }, (_, n) => `${n}${'8'.repeat(31)}`)
    for (const type of ['transaction', 'span']) {
      // Declined by Sentry, so that each finds half of the last 20 % used up.
      const outcomes = ids.map(
        (id) => test.send([{ type }], { header: { trace: { trace_id: id } } }, 'declined').outcome,
      )
      expect(outcomes).toEqual([...Array(8).fill('declined'), 'filtered', 'filtered'])
    }
  })

  it('prefers replays with errors, and counts a replay once', () => {
    const test = new QuotaTest('replay=100')
    for (let i = 0; i < 90; i++) test.send(segment(0, { error_ids: ['a'] }))
    test.send(segment(1))
    expect(test.used('replay').used).toBe(90)
    const header = { event_id: 'f'.repeat(32) }
    expect(test.send(segment(0), { header })).toMatchObject({ outcome: 'filtered', reason: 'quota-sampled' })
    expect(test.send(segment(3, { error_ids: ['a'] }), { header })).toMatchObject({ outcome: 'delivered' })
    expect(test.send(segment(0, { replay_type: 'buffer' }), { header })).toMatchObject({
      outcome: 'delivered',
    })
    expect(test.used('replay')).toEqual({ used: 91, saved: 1 })
  })

  it('lets the later segments of a replay pass when it is used up, and not the first one of another', () => {
    const test = new QuotaTest('replay=1')
    expect(test.send(segment(0, { error_ids: ['a'] })).outcome).toBe('delivered')
    expect(test.send(segment(1)).outcome).toBe('delivered')
    expect(test.send(segment(0, { error_ids: ['a'] })).reason).toBe('quota')
  })

  it('gives one public address 5 % of it, divided among the replicas', () => {
    const test = new QuotaTest('error=1000')
    expect(test.sendMany(60, ERROR, { address: '203.0.113.7' })).toEqual({
      delivered: 50,
      'rate_limited quota-address': 10,
    })
    expect(test.sendMany(60, ERROR, { address: '10.0.0.1' })).toEqual({ delivered: 60 })
    expect(test.sendMany(60, ERROR)).toEqual({ delivered: 60 })
    test.quotas.replicas = 2
    expect(test.sendMany(60, ERROR, { address: '203.0.113.8' }).delivered).toBe(25)
  })

  it('gives an IPv6 /64 5 % of it, a /56 10 % and a /48 20 %', () => {
    const test = new QuotaTest('error=1000')
    const sendFrom = (address: (n: string) => string) => {
      const sent = Array.from({ length: 256 }, (_, n) =>
        test.send([ERROR], { address: address(n.toString(16)) }),
      )
      return sent.filter(({ outcome }) => outcome === 'delivered').length
    }
    expect(sendFrom((n) => `2a00:1:1:1::${n}`)).toBe(50)
    expect(sendFrom((n) => `2a00:1:2:${n}::1`)).toBe(100)
    expect(sendFrom((n) => `2a00:1:3:${n}00::1`)).toBe(200)
    expect(sendFrom((n) => `64:ff9b::81.2.69.${Number.parseInt(n, 16)}`)).toBe(256)
    expect(test.sendMany(60, ERROR, { address: '64:ff9b::81.2.69.7' })).toMatchObject({ delivered: 49 })
  })

  it('lets at least one item of an address pass', () => {
    expect(new QuotaTest('error=10').sendMany(2, ERROR, { address: '203.0.113.7' })).toMatchObject({
      delivered: 1,
    })
  })

  it('removes the first item of an address if it alone exceeds the 5 %, such as a container with a false count', () => {
    const test = new QuotaTest('span=100000')
    const spans = { type: 'span', item_count: 100_000, payload: 'x'.repeat(200_000) }
    expect(test.send([spans], { address: '203.0.113.7' }).reason).toBe('quota-address')
    expect(test.used('span').used).toBe(0)
  })

  it.each(['rejected', 'deferred', 'declined', 'rate_limited', 'aborted', 'filtered'] as const)(
    'takes back what was %s in the end',
    (outcome) => {
      const test = new QuotaTest('error=1000')
      test.send([ERROR], { address: '203.0.113.7' }, outcome)
      expect(test.used('error')).toEqual({ used: 0, saved: 0 })
    },
  )

  it('counts a spooled envelope, and takes back items that a later stage removed', () => {
    const test = new QuotaTest('error=1000,attachment_item=5')
    test.send([ERROR], {}, 'spooled')
    const ctx = test.pass([ERROR, { type: 'attachment', length: 2 }])
    ctx.remove(ctx.envelope.items.slice(1), 'attachments-dropped')
    ctx.announceOutcome({ outcome: 'delivered', status: 200, body: null, headers: {} })
    expect([test.used('error').used, test.used('attachment_item').used]).toEqual([2, 0])
  })

  it('in the mode observe removes nothing, and counts what would have been forwarded and removed', () => {
    const test = new QuotaTest('error=100', { mode: 'observe' })
    expect(test.sendMany(1_000, ERROR)).toEqual({ delivered: 1_000 })
    const { used, saved } = test.used('error')
    expect(used + saved).toBe(1_000)
    expect(used).toBeLessThanOrEqual(95)
    expect(test.observed).toBe(saved)
  })

  it('keeps two days and two hours of counts', () => {
    const test = new QuotaTest('error=100')
    for (let hour = 0; hour < 100; hour++) {
      test.send([ERROR])
      test.time += HOUR
    }
    expect(test.quotas.counters.unshared()).toHaveLength(4)
  })

  it('counts the items of one envelope one after the other', () => {
    const test = new QuotaTest('session=100')
    test.sendMany(99, { type: 'session' }, { header: { event_id: '0'.repeat(32) } })
    const { used } = test.used('session')
    const ctx = test.pass(Array(100).fill({ type: 'session' }), { header: { event_id: '0'.repeat(32) } })
    expect(used).toBe(99)
    expect(ctx.remaining().items).toHaveLength(1)
    expect(test.used('session')).toEqual({ used: 100, saved: 99 })
  })

  it('does not count an attachment that is removed with its error', () => {
    const test = new QuotaTest('error=1,attachment_item=5')
    test.isNew = true
    test.send([ERROR])
    test.send([{ type: 'attachment', length: 2 }, ERROR])
    expect(test.used('attachment_item')).toEqual({ used: 0, saved: 1 })
  })

  it('forwards or removes each item once, never exceeds a quota, and never removes other categories', () => {
    const CATEGORIES: Record<string, string> = { event: 'error', session: 'session', span: 'span' }
    const types = fc.constantFrom('event', 'session', 'span', 'feedback', 'log')
    const envelopes = fc.array(fc.array(types, { minLength: 1, maxLength: 30 }), { maxLength: 30 })
    fc.assert(
      fc.property(envelopes, fc.nat(DAY), (all, offset) => {
        const test = new QuotaTest('error=10,session=5,span=20')
        test.time = NOON + offset
        const passed: string[] = []
        for (const sent of all) {
          const ctx = test.pass(sent.map((type) => ({ type })))
          passed.push(...typesOf(ctx.remaining().items))
          const announced = ctx.ownLimits.flatMap(({ categories }) => categories)
          expect(sent.map((type) => CATEGORIES[type])).toEqual(expect.arrayContaining(announced))
        }
        const [sum, count] = [
          all.flat(),
          (list: string[], type: string) => list.filter((each) => each === type).length,
        ]
        for (const type of ['feedback', 'log']) expect(count(passed, type)).toBe(count(sum, type))
        for (const [type, limit] of [
          ['event', 10],
          ['session', 5],
          ['span', 20],
        ] as const) {
          const forwarded = count(passed, type)
          expect(forwarded).toBeLessThanOrEqual(limit)
          expect(test.used(CATEGORIES[type] ?? '')).toEqual({
            used: forwarded,
            saved: count(sum, type) - forwarded,
          })
        }
      }),
      { numRuns: 50 },
    )
  })

  it('reads payloads of replays only if they have a quota', () => {
    expect(new QuotaTest('replay=1').quotas.reads('replay_event')).toBe(true)
    expect(new QuotaTest('error=1').quotas.reads('replay_event')).toBe(false)
  })
})
