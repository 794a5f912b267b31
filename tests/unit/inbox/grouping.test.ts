/** Groups of events: which reports are one error, and which are not. */

import { describe, expect, it } from 'vitest'
import { groupOfEvent, patternOf } from '../../../tunnel/src/inbox/grouping.ts'

const frame = (name: string, more = {}) => ({ function: name, filename: 'app.js', in_app: true, ...more })
const frames = [frame('start'), frame('pay', { lineno: 7 })]

function eventOf(exception: object, more: object = {}) {
  const raised = { type: 'TypeError', value: 'no basket 7', stacktrace: { frames }, ...exception }
  return { exception: { values: [{ type: 'Cause' }, raised] }, ...more }
}

const group = groupOfEvent(eventOf({}))

describe('groupOfEvent', () => {
  it.each<[difference: string, event: object]>([
    ['numbers in the message', eventOf({ value: 'no basket 12' })],
    [
      'line and column',
      eventOf({ stacktrace: { frames: [frames[0], frame('pay', { lineno: 9, colno: 2 })] } }),
    ],
    [
      'the hash in the name of a script',
      eventOf({ stacktrace: { frames: [frames[0], frame('pay', { filename: 'app.js?v=2' })] } }),
    ],
    [
      'frames of libraries',
      eventOf({
        stacktrace: { frames: [...frames, { function: 'call', filename: 'lib.js', in_app: false }] },
      }),
    ],
    ['release, environment and user', eventOf({}, { release: 'b', environment: 'test', user: { id: 2 } })],
  ])('returns the same ID for events that differ in %s', (_, event) => {
    expect(groupOfEvent({ ...event })).toBe(group)
  })

  it.each<[difference: string, event: object]>([
    ['exception type', eventOf({ type: 'RangeError' })],
    ['message', eventOf({ value: 'no card 7' })],
    ['function', eventOf({ stacktrace: { frames: [frames[0], frame('ship')] } })],
    ['file', eventOf({ stacktrace: { frames: [frames[0], frame('pay', { filename: 'shop.js' })] } })],
    ['fingerprint', eventOf({}, { fingerprint: ['mine'] })],
    ['a part beside the default fingerprint', eventOf({}, { fingerprint: ['{{ default }}', 'mine'] })],
  ])('returns different IDs for events that differ in %s', (_, event) => {
    expect(groupOfEvent({ ...event })).not.toBe(group)
  })

  const named = (name: string, more: object = {}) =>
    groupOfEvent(eventOf({ stacktrace: { frames: [frame('start'), frame(name)] } }, more))

  it.each([
    [
      'total',
      ['Cart.total', 'Shop.Cart.total', 'Object.total', 'async Cart.total', 'async*total', 'outer/total'],
    ],
    [
      'total',
      ['Cart.prototype.total', 'get total', 'Cart.get total', 'Cart.total [as alias]', 'bound total'],
    ],
    ['Cart', ['new Cart', 'new Shop.Cart']],
    ['#secret', ['Cart.#secret']],
    ['[Symbol.iterator]', ['Cart.[Symbol.iterator]']],
    [
      '?',
      ['', '<anonymous>', 'Cart.<anonymous>', 'Object.<anonymous>', 'global code', 'total/<', 'a/b/total<'],
    ],
    ['Module../src/cart.js', ['./src/cart.js']],
  ])('returns the same ID for %j as each browser names it', (name, others) => {
    for (const other of others) expect(named(other), other).toBe(named(name))
    for (const other of others) expect(named(other), other).not.toBe(named('other'))
  })

  it.each(['python', 'java', 'php'])('keeps the receiver of functions in %s', (platform) => {
    expect(named('Cart.total', { platform })).not.toBe(named('Order.total', { platform }))
  })

  it('leaves out frames that not every browser has', () => {
    const of = (...given: object[]) => groupOfEvent(eventOf({ stacktrace: { frames: given } }))
    const native = (name: string, filename: string) => frame(name, { filename, lineno: undefined })
    const expected = of(frame('?'), frame('each'))
    expect(of(frame('?'), native('Array.forEach', '<anonymous>'), frame('Cart.each'))).toBe(expected)
    expect(of(frame(''), native('forEach', '[native code]'), frame('each'))).toBe(expected)
    expect(of(frame('raise'), frame('setTimeout handler*raise'), frame('raise/<'), frame('each'))).toBe(
      expected,
    )
    expect(of(frame('main'), frame('async Shop.open'), frame('?'), frame('Cart.each'))).toBe(expected)
  })

  it('reads a fingerprint of the default part as none', () => {
    expect(groupOfEvent(eventOf({}, { fingerprint: ['{{default}}'] }))).toBe(group)
  })

  it('groups by the frames of libraries when there are no others', () => {
    const of = (name: string) => eventOf({ stacktrace: { frames: [frame(name, { in_app: false })] } })
    expect(groupOfEvent(of('a'))).not.toBe(groupOfEvent(of('b')))
  })

  it('groups messages by level and text, wherever the SDK writes it', () => {
    const [first, ...others] = [
      { message: 'Paid 5 CHF' },
      { message: { formatted: 'Paid 6 CHF' } },
      { logentry: { message: 'Paid 7 CHF' } },
    ].map(groupOfEvent)
    expect(others).toEqual([first, first])
    expect(groupOfEvent({ message: 'Paid 5 CHF', level: 'error' })).not.toBe(first)
  })

  it.each<[what: string, event: object]>([
    ['members of other types', { exception: 7, fingerprint: {}, message: [], logentry: null }],
    ['exceptions that are no objects', { exception: { values: [null, 'x', [7]] } }],
    ['frames that are no objects', eventOf({ stacktrace: { frames: [null, 7, 'x'] }, type: {}, value: [] })],
    ['a function name of 1 MB', eventOf({ stacktrace: { frames: [frame('x'.repeat(1_000_000))] } })],
  ])('returns an ID of 16 digits for %s', (_, event) => {
    expect(groupOfEvent({ ...event })).toMatch(/^[\da-f]{16}$/)
  })
})

describe('patternOf', () => {
  it.each([
    ['Order 4711 of 2026-11-22 took 1,234.5 ms', 'Order # of # took # ms'],
    ['user 9f86d081-884c-4d63-8d1e-12ab34cd56ef is gone', 'user # is gone'],
    ['at 0xdeadbeef1 in decade', 'at # in decade'],
    ['  several\n\tlines ', 'several lines'],
  ])('replaces the numbers of %j', (message, pattern) => {
    expect(patternOf(message)).toBe(pattern)
  })

  it('takes time in proportion to the size of a text', () => {
    const start = performance.now()
    for (const text of [
      'a'.repeat(1_000_000),
      '-'.repeat(1_000_000),
      '1.'.repeat(500_000),
      'a-'.repeat(500_000),
    ])
      expect(patternOf(text).length).toBeLessThanOrEqual(300)
    expect(performance.now() - start).toBeLessThan(5_000) // quadratic time would be minutes
  })
})
