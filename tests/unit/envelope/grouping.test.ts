/** Groups of events: which reports are one error, and which are not. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { object } from '../../../contract/json.ts'
import { groupOf, patternOf } from '../../../tunnel/src/envelope/grouping.ts'
import { readEnvelope } from '../../support/read-envelope.ts'
import { capture } from '../../support/sdk-captures.ts'

const frame = (name: string, more = {}) => ({
  ...{ function: name, filename: 'https://shop.example/assets/app-0f8a91bc.js?v=1' },
  ...{ in_app: true, lineno: 1, colno: 20, ...more },
})
const frames = [frame('start'), frame('pay')]

function eventOf(exception: object, more: object = {}) {
  const raised = { type: 'TypeError', value: 'no basket of ann', stacktrace: { frames }, ...exception }
  return { exception: { values: [{ type: 'Cause' }, raised] }, ...more }
}
const withFrames = (...given: object[]) => eventOf({ stacktrace: { frames: given } })

const id = (event: unknown) => groupOf(object(event))?.id
const group = id(eventOf({}))

describe('groupOf', () => {
  it.each<[difference: string, event: object]>([
    ['the message, if the function has a name', eventOf({ value: 'no basket of bob' })],
    ['line and column', withFrames(frame('start'), frame('pay', { lineno: 9, colno: 2 }))],
    [
      'origin, query and hash of a file',
      withFrames(
        frame('start'),
        frame('pay', { filename: 'https://cdn.example/assets/app-77aa01ff.js?v=2' }),
      ),
    ],
    [
      'frames of libraries',
      withFrames(...frames, frame('call', { in_app: false }), frame('run', { in_app: undefined })),
    ],
    ['other fields', eventOf({}, { release: 'b', level: 'fatal', user: { id: 2 }, timestamp: 5 })],
    ['form of the list of exceptions', { exception: eventOf({}).exception.values }],
  ])('returns the same ID for events that differ in %s', (_, event) => {
    expect(group).toBeDefined()
    expect(id(event)).toBe(group)
  })

  it.each<[difference: string, event: object]>([
    ['exception type', eventOf({ type: 'RangeError' })],
    ['exceptions that caused it', { exception: { values: eventOf({}).exception.values.slice(1) } }],
    ['function', withFrames(frame('start'), frame('ship'))],
    ['caller', withFrames(frame('stop'), frame('pay'))],
    ['file', withFrames(frame('start'), frame('pay', { filename: '/assets/shop.js' }))],
    ['module', withFrames(frame('start'), frame('pay', { module: 'shop' }))],
    ['fingerprint', eventOf({}, { fingerprint: ['mine'] })],
    ['a part beside the default fingerprint', eventOf({}, { fingerprint: ['{{ default }}', 'mine'] })],
  ])('returns different IDs for events that differ in %s', (_, event) => {
    expect(id(event)).not.toBe(group)
  })

  it('ignores frames farther from the error than the fifth', () => {
    const inner = ['1', '2', '3', '4', '5'].map((name) => frame(name))
    expect(id(withFrames(frame('x'), ...inner))).toBe(id(withFrames(frame('y'), ...inner)))
  })

  it.each<[cause: string, of: (value: string) => object]>([
    ['without frames', (value) => eventOf({ value, stacktrace: undefined })],
    ['in a function without a name', (value) => eventOf({ value, stacktrace: { frames: [frame('?')] } })],
    ['of an event without an exception', (message) => ({ message })],
  ])('counts the message of an error %s, without its numbers', (_, of) => {
    expect(id(of('order 17 is gone'))).toBe(id(of('order 4711 is gone')))
    expect(id(of('order 17 is gone'))).not.toBe(id(of('basket 17 is gone')))
  })

  const named = (name: string, more: object = {}) =>
    id({ ...withFrames(frame('start'), frame(name)), ...more })

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
    const of = (...given: object[]) => id(withFrames(...given))
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
    expect(id(eventOf({}, { fingerprint: ['{{default}}'] }))).toBe(group)
  })

  it('groups by the fingerprint of the SDK alone', () => {
    expect(id({ message: 'a', fingerprint: ['mine'] })).toBe(id(eventOf({}, { fingerprint: ['mine'] })))
  })

  it('groups by the frames of libraries when there are no others', () => {
    const of = (name: string) => id(withFrames(frame(name, { in_app: false })))
    expect(of('a')).not.toBe(of('b'))
  })

  it('groups messages by their text, wherever the SDK writes it', () => {
    const [first, ...others] = [
      { message: 'Paid 5 CHF' },
      { message: { formatted: 'Paid 6 CHF' } },
      { logentry: { message: 'Paid 7 CHF' }, level: 'error' },
    ].map(id)
    expect(others).toEqual([first, first])
  })

  it('groups messages by the text before its parameters are filled in', () => {
    const of = (formatted: string) => id({ logentry: { message: 'user %s', formatted } })
    expect(of('user ann')).toBe(of('user bob'))
  })

  it.each<[what: string, event: object]>([
    ['exceptions that are no objects', { exception: { values: [null, 'x', [7]] } }],
    ['frames that are no objects', eventOf({ stacktrace: { frames: [null, 7, 'x'] }, type: {}, value: [] })],
    ['a function name of 1 MB', withFrames(frame('x'.repeat(1_000_000)))],
    ['a path of 1 MB', withFrames(frame('', { filename: 'a:-/'.repeat(250_000) }))],
  ])('returns an ID of 16 digits for %s', (_, event) => {
    expect(id(event)).toMatch(/^[\da-f]{16}$/)
  })

  it.each([
    {},
    { exception: { values: [] } },
    { exception: 7, fingerprint: {}, message: [], logentry: null },
  ])('returns undefined for %j', (event) => {
    expect(groupOf(event)).toBeUndefined()
  })

  it('throws for no JSON, whatever the types of its members', () => {
    const names = ['exception', 'values', 'stacktrace', 'frames', 'lineno', 'colno', 'function', 'filename']
    const more = ['in_app', 'type', 'value', 'message', 'logentry', 'formatted', 'fingerprint', 'module']
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 7 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie('json'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...names, ...more, 'toString'), tie('json'), { maxKeys: 6 }),
      ),
    }))
    fc.assert(
      fc.property(json, (event) => void id(event)),
      { numRuns: 2_000, seed: 1 },
    )
  })

  it('names types and the function nearest to the error, and never the message', () => {
    const title = (event: object) => groupOf({ ...event })?.title
    expect(title(eventOf({}))).toBe('Cause, TypeError in pay')
    expect(title(withFrames(frame('?')))).toBe('Cause, TypeError in app-#.js')
    expect(title(eventOf({ value: 'jane@mail.example', stacktrace: undefined }))).toBe('Cause, TypeError')
    expect(title({ message: 'jane@mail.example' })).toBe('Message')
  })

  it('has the function and file of the frame nearest to the error as its culprit, without origin and query', () => {
    const culprit = (event: object) => groupOf({ ...event })?.culprit
    const file = { filename: 'https://shop.example/assets/pay-4f2a.js?v=1' }
    expect(culprit(withFrames({ ...frame('pay'), ...file }))).toBe('pay in /assets/pay-4f2a.js')
    expect(culprit(withFrames({ ...frame('?'), ...file }))).toBe('/assets/pay-4f2a.js')
    expect(culprit({ message: 'late' })).toBe('')
  })

  it('groups an error of a real SDK', () => {
    const [item] = readEnvelope(capture('nextjs-11.1.0-init-tunnel-2-event').body, () => true).items
    const event = object(JSON.parse(String(Buffer.concat(item?.payload ?? []))))
    expect(groupOf(event)?.title).toMatch(/^\w*Error in /)
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
