/** Quotas as a stage: what they remove, count and announce. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { typesOf } from '../../../support/read-envelope.ts'
import { DAY, HOUR, NOON, PROJECT, QuotaTest, type Sent } from './fixtures.ts'

const ERROR = { type: 'event' }
const segment = (id: number, more: object = {}): Sent[] => [
  { type: 'replay_event', payload: JSON.stringify({ segment_id: id, replay_type: 'session', ...more }) },
  { type: 'replay_recording', length: 1, payload: '1' },
]

describe('A quota', () => {
  it('lets everything pass up to its limit, and nothing more', () => {
    const test = new QuotaTest('error=100')
    expect(test.sendMany(150, ERROR)).toEqual({ delivered: 100, 'rate_limited quota': 50 })
    expect(test.used('error')).toBe(100)
  })

  it('used up, is answered with a rate limit on its category for a minute', () => {
    const test = new QuotaTest('error=10')
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
    expect(test.send([attachment(50)]).outcome).toBe('delivered')
  })

  it('is announced only up to the end of its period', () => {
    const test = new QuotaTest('error=1')
    test.time = NOON + 12 * HOUR - 1_500
    test.send([ERROR])
    expect(test.send([ERROR]).headers['x-sentry-rate-limits']).toBe('2:error:key:tunnel')
  })

  it('begins anew at midnight UTC, and an hourly one with the hour', () => {
    const test = new QuotaTest('error=20', { hourly: 'error=10' })
    expect(test.sendMany(11, ERROR)).toEqual({ delivered: 10, 'rate_limited quota': 1 })
    test.time += HOUR
    expect(test.sendMany(11, ERROR)).toEqual({ delivered: 10, 'rate_limited quota': 1 })
    test.time += HOUR
    expect(test.sendMany(1, ERROR)).toEqual({ 'rate_limited quota': 1 })
    test.time = NOON + 12 * HOUR
    expect(test.sendMany(1, ERROR)).toEqual({ delivered: 1 })
    expect(test.used('error')).toBe(1)
  })

  it('counts each project separately', () => {
    const test = new QuotaTest('error=10,2:error=1')
    test.sendMany(10, ERROR)
    expect(test.sendMany(2, ERROR, { project: 1 })).toEqual({ delivered: 1, 'rate_limited quota': 1 })
  })

  it('removes the attachments of an error, and announces no limit on attachments', () => {
    const test = new QuotaTest('error=1')
    test.send([ERROR])
    const items = [ERROR, { type: 'attachment', length: 2 }]
    expect(test.send(items).headers['x-sentry-rate-limits']).toBe('60:error:key:tunnel')
    expect(typesOf(test.pass([...items, { type: 'session' }]).remaining().items)).toEqual(['session'])
  })

  it('gives one public address 5 % of it, on each replica', () => {
    const test = new QuotaTest('error=1000')
    expect(test.sendMany(60, ERROR, { address: '203.0.113.7' })).toEqual({
      delivered: 50,
      'rate_limited quota-address': 10,
    })
    expect(test.sendMany(60, ERROR, { address: '10.0.0.1' })).toEqual({ delivered: 60 })
    expect(test.sendMany(60, ERROR)).toEqual({ delivered: 60 })
    expect(test.sendMany(1, ERROR, { address: '203.0.113.8' })).toEqual({ delivered: 1 })
    test.time += DAY
    expect(test.sendMany(1, ERROR, { address: '203.0.113.7' })).toEqual({ delivered: 1 })
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
  })

  it('lets at least one item of an address pass', () => {
    const sent = new QuotaTest('error=10').sendMany(2, ERROR, { address: '203.0.113.7' })
    expect(sent).toEqual({ delivered: 1, 'rate_limited quota-address': 1 })
  })

  it('takes back from an address what Sentry does not get', () => {
    const test = new QuotaTest('error=10')
    test.send([ERROR], { address: '203.0.113.7' }, 'declined')
    expect(test.sendMany(1, ERROR, { address: '203.0.113.7' })).toEqual({ delivered: 1 })
  })

  it('counts spans and bytes, not items', () => {
    const test = new QuotaTest('span=100,attachment=1000')
    const spans = { type: 'span', item_count: 30, payload: 'x'.repeat(100) }
    test.send([spans, { type: 'attachment', length: 200, payload: 'x'.repeat(200) }])
    expect(test.used('span')).toBe(30)
    expect(test.used('attachment')).toBe(200)
  })

  it('counts a replay once, with its first segment', () => {
    const test = new QuotaTest('replay=100')
    for (const id of [0, 1, 2]) test.send(segment(id))
    test.send(segment(0))
    expect(test.used('replay')).toBe(2)
  })

  it('counts a replay that cannot be read as a first segment', () => {
    const test = new QuotaTest('replay=100')
    const urls = Array.from({ length: 60_000 }, () => 1)
    test.send(segment(1, { urls }))
    expect(test.used('replay')).toBe(1)
  })

  it('lets the later segments of a replay pass when it is used up, and not the first one of another', () => {
    const test = new QuotaTest('replay=1')
    expect(test.send(segment(0, { error_ids: ['a'] })).outcome).toBe('delivered')
    expect(test.send(segment(1)).outcome).toBe('delivered')
    expect(test.send(segment(0, { error_ids: ['a'] })).reason).toBe('quota')
  })

  it.each(['rejected', 'deferred', 'declined', 'rate_limited', 'aborted', 'filtered'] as const)(
    'takes back what was %s in the end',
    (outcome) => {
      const test = new QuotaTest('error=1000')
      test.send([ERROR], {}, outcome)
      expect(test.used('error')).toBe(0)
    },
  )

  it('counts a spooled envelope, and takes back items that a later stage removed', () => {
    const test = new QuotaTest('error=1000,attachment_item=5')
    test.send([ERROR], {}, 'spooled')
    const ctx = test.pass([ERROR, { type: 'attachment', length: 2 }])
    ctx.remove(ctx.envelope.items.slice(1), 'attachments-dropped')
    ctx.announceOutcome({ outcome: 'delivered', status: 200, body: null, headers: {} })
    expect([test.used('error'), test.used('attachment_item')]).toEqual([2, 0])
  })

  it('in the mode observe removes nothing, and counts everything', () => {
    const test = new QuotaTest('error=100', { mode: 'observe' })
    expect(test.sendMany(1_000, ERROR)).toEqual({ delivered: 1_000 })
    expect([test.used('error'), test.observed]).toEqual([1_000, 900])
  })

  it('does not take back in a day what was counted the day before', () => {
    const test = new QuotaTest('error=100')
    const ctx = test.pass([ERROR])
    test.time += DAY
    test.send([ERROR])
    ctx.announceOutcome({ outcome: 'declined', status: 400, body: null, headers: {} })
    expect(test.used('error')).toBe(1)
  })

  it('lists the quotas of each project with their use', () => {
    const test = new QuotaTest('error=100,2:error=5', { hourly: 'replay=7' })
    test.send([ERROR])
    const day = { category: 'error', period: 'day', resets: NOON + 12 * HOUR }
    const hour = { category: 'replay', period: 'hour', resets: NOON + HOUR, limit: 7, used: 0 }
    expect(test.quotas.describe([PROJECT, 'sentry.example/2'])).toEqual([
      { project: PROJECT, ...day, limit: 100, used: 1 },
      { project: PROJECT, ...hour },
      { project: 'sentry.example/2', ...day, limit: 5, used: 0 },
      { project: 'sentry.example/2', ...hour },
    ])
  })

  it('counts the items of one envelope one after the other', () => {
    const test = new QuotaTest('session=100')
    test.sendMany(99, { type: 'session' }, { header: { event_id: '0'.repeat(32) } })
    const used = test.used('session')
    const ctx = test.pass(Array(100).fill({ type: 'session' }), { header: { event_id: '0'.repeat(32) } })
    expect(used).toBe(99)
    expect(ctx.remaining().items).toHaveLength(1)
    expect(test.used('session')).toBe(100)
  })

  it('does not count an attachment that is removed with its error', () => {
    const test = new QuotaTest('error=1,attachment_item=5')
    test.send([ERROR])
    test.send([{ type: 'attachment', length: 2 }, ERROR])
    expect(test.used('attachment_item')).toBe(0)
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
          expect(forwarded).toBe(Math.min(limit, count(sum, type)))
          expect(test.used(CATEGORIES[type] ?? '')).toBe(forwarded)
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
