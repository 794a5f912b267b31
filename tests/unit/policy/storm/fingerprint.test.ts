/** Fingerprints of errors. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fingerprintOf } from '../../../../tunnel/src/policy/storm/fingerprint.ts'
import { readEnvelope } from '../../../support/read-envelope.ts'
import { capture } from '../../../support/sdk-captures.ts'

const frame = (name: string, more: object = {}) => ({
  ...{ function: name, filename: 'https://shop.example/assets/app-0f8a91bc.js?v=1', lineno: 1, colno: 20 },
  ...{ in_app: true, ...more },
})
const error = (value: string, frames: object[] = [frame('outer'), frame('checkout')], more: object = {}) => ({
  exception: { values: [{ type: 'TypeError', value, stacktrace: { frames } }] },
  ...more,
})
const fingerprint = (event: unknown) => fingerprintOf(Buffer.from(JSON.stringify(event)))
const key = (event: unknown) => fingerprint(event)?.key

describe('fingerprintOf', () => {
  it.each([
    ['numbers in the message', error('order 17 is gone'), error('order 4711 is gone')],
    [
      'UUIDs in the message',
      error('no 9ec79c33-ec99-42ab-8353-589fcb2e04dc'),
      error('no 0a1b2c3d-4e5f-4a6b-8c7d-deadbeefcafe'),
    ],
    [
      'numbers that make a long message longer',
      error(`9 ${'a'.repeat(299)}b`),
      error(`10 ${'a'.repeat(299)}b`),
    ],
    ['IDs in the message', error('no 9ec79c33ec9942ab'), error('no 8353589fcb2e04dc')],
    [
      'the hash and the query of a file',
      error('a', [frame('f')]),
      error('a', [frame('f', { filename: 'https://cdn.example/app-77aa01ff.js?v=2' })]),
    ],
    [
      'frames that are not of the app',
      error('a', [frame('f'), frame('lib', { in_app: false })]),
      error('a', [frame('f'), frame('other', { in_app: false })]),
    ],
    [
      'the receiver of a method, which only Chromium writes',
      error('a', [frame('?'), frame('Array.map', { filename: '<anonymous>' }), frame('Cart.total')]),
      error('a', [frame('global code'), frame('map', { filename: '[native code]' }), frame('total')]),
    ],
    [
      'outer frames',
      error('a', [frame('x'), frame('1'), frame('2'), frame('3')]),
      error('a', [frame('y'), frame('1'), frame('2'), frame('3')]),
    ],
    ['other fields', error('a'), error('a', undefined, { user: { id: 1 }, timestamp: 5 })],
  ])('ignores %s', (_, one, other) => {
    expect(key(one)).toBeDefined()
    expect(key(other)).toBe(key(one))
  })

  it.each([
    ['the type', error('a'), { exception: { values: [{ ...error('a').exception.values[0], type: 'E' }] } }],
    ['the words of the message', error('a is gone'), error('b is gone')],
    ['an inner frame', error('a', [frame('f')]), error('a', [frame('g')])],
    [
      'the receiver in other languages',
      error('a', [frame('Cart.total')], { platform: 'python' }),
      error('a', [frame('Order.total')], { platform: 'python' }),
    ],
    ['the column of a frame', error('a', [frame('f')]), error('a', [frame('f', { colno: 21 })])],
    ['the fingerprint of the SDK', error('a'), error('a', undefined, { fingerprint: ['mine'] })],
    ['the message of an event', { message: 'a' }, { message: 'b' }],
    ['the template of a log entry', { logentry: { message: 'a' } }, { logentry: { message: 'b' } }],
  ])('depends on %s', (_, one, other) => {
    expect(key(one)).toBeDefined()
    expect(key(other)).not.toBe(key(one))
  })

  it('uses the template of a log entry, not its text', () => {
    const entry = (formatted: string) => ({ logentry: { message: 'user %s', formatted } })
    expect(key(entry('user ann'))).toBe(key(entry('user bob')))
  })

  it.each(['{}', '[]', '1', 'null', '{', '', '{"exception":{"values":[]}}', '{"message":5}'])(
    'returns undefined for %j',
    (payload) => {
      expect(fingerprintOf(Buffer.from(payload))).toBeUndefined()
    },
  )

  it('throws for no JSON, whatever the types of its members', () => {
    const names = ['exception', 'values', 'stacktrace', 'frames', 'lineno', 'colno', 'function', 'filename']
    const more = [
      'in_app',
      'type',
      'value',
      'message',
      'logentry',
      'formatted',
      'fingerprint',
      'valueOf',
      'toString',
    ]
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 7 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie('json'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...names, ...more), tie('json'), { maxKeys: 6 }),
      ),
    }))
    fc.assert(
      fc.property(json, (event) => void fingerprint(event)),
      { numRuns: 5_000, seed: 1 },
    )
    const position = { valueOf: 1, toString: 1 }
    expect(key(error('a', [frame('f', { lineno: position, colno: [[[]]] })]))).toBeDefined()
  })

  it('returns undefined for a payload that takes long to parse', () => {
    expect(fingerprint({ message: 'a', extra: Array(60_000).fill(0) })).toBeUndefined()
  })

  it('names types and the innermost function, and never the message', () => {
    expect(fingerprint(error('jane@mail.example is unknown'))?.title).toBe('TypeError in checkout')
    expect(fingerprint({ message: 'jane@mail.example' })?.title).toBe('Message')
  })

  it('is the same for the same error of a real SDK', () => {
    const read = () => {
      const [item] = readEnvelope(capture('nextjs-11.1.0-init-tunnel-2-event').body, () => true).items
      return fingerprintOf(Buffer.concat(item?.payload ?? []))
    }
    expect(read()).toEqual(read())
    expect(read()?.title).toMatch(/^\w*Error in /)
  })
})
