/** Properties of scrubbing, for any JSON and any text. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Unscrubbable } from '../../../../tunnel/src/policy/scrub/budget.ts'
import { DEFAULT, STRICT, scrubBytes, scrubText } from './scrub-json.ts'

const SECRETS = [
  'jane.doe@mail.example',
  '4111 1111 1111 1111',
  'GB29NWBK60161331926819',
  'sk_live_4eC39HqLyjWDarjtT1zdp7dc',
]
const NAMES = [
  'password',
  'token',
  'cookies',
  'extra',
  '_meta',
  '',
  '__proto__',
  'items',
  'frames',
  'filename',
  'val',
  'attributes',
]
const PIECES = [
  ...SECRETS,
  ...NAMES,
  'a=',
  ': ',
  '"',
  '\\',
  '@',
  '%40',
  '//',
  '-----BEGIN PRIVATE KEY-----',
  ' ',
  '\n',
  '\0',
  'é',
  '😀',
  '\ud800',
  '::',
  '1',
  'eyJ',
  '.',
  'Bearer ',
]

const anyUnits = fc
  .array(fc.nat({ max: 0xffff }), { maxLength: 5 })
  .map((units) => String.fromCharCode(...units))
const text = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), anyUnits), { maxLength: 8 })
  .map((parts) => parts.join(''))
/** Words that a blank separates: within one word, what is redacted first may be the boundary that a second find needs. */
const words = fc
  .array(fc.constantFrom(...PIECES.filter((piece) => piece !== '\0')), { maxLength: 6 })
  .map((parts) => parts.join(' '))

const objectsOf = (strings: fc.Arbitrary<string>) =>
  fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      strings,
      fc.integer(),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      tie('list'),
      tie('object'),
    ),
    list: fc.array(tie('value'), { maxLength: 4 }),
    object: fc.dictionary(fc.oneof(fc.constantFrom(...NAMES), strings), tie('value'), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
  })).object
const json = objectsOf(text)

/** Writes each character of a string as an escape, or not. */
function escapeSome(source: string, isEscaped: readonly boolean[]): string {
  let index = 0
  return source.replaceAll(/[a-z@ 0-9]/g, (character) =>
    isEscaped[index++ % isEscaped.length]
      ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
      : character,
  )
}

describe('Scrubbing', () => {
  it('keeps JSON valid', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(() => JSON.parse(scrubText(STRICT, JSON.stringify(value)))).not.toThrow()
      }),
      { numRuns: 500 },
    )
  })

  it('changes nothing the second time', () => {
    fc.assert(
      fc.property(objectsOf(words), (value) => {
        const once = scrubText(STRICT, JSON.stringify(value))
        expect(scrubText(STRICT, once)).toBe(once)
      }),
      { numRuns: 500 },
    )
  })

  it('writes a payload in which it redacts nothing as it is', () => {
    fc.assert(
      fc.property(json, (value) => {
        const payload = Buffer.from(JSON.stringify(value))
        const scrubbed = DEFAULT.scrub(payload, 'event', 'event')
        if (scrubbed.changes.length === 0) expect(scrubbed.payload).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  it('leaves no secret in any string, however it is escaped', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...SECRETS),
        fc.constantFrom('', ' ', '(', '"', '\n', 'é ', '😀'),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
        fc.array(fc.constantFrom('extra', 'data', 'a'), { maxLength: 6 }),
        (secret, around, isEscaped, path) => {
          const literal = JSON.stringify(`${around}${secret}${around}`).slice(1, -1)
          const value = `"${/[\\"]/.test(literal) ? literal : escapeSome(literal, isEscaped)}"`
          const nested = path.reduce((inner, key) => `{"${key}":[1,${inner}]}`, value)
          const scrubbed = scrubText(DEFAULT, `{"message":${nested}}`)
          expect(JSON.stringify(JSON.parse(scrubbed))).not.toContain(secret)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('accepts what JSON.parse accepts, and nothing else', () => {
    const token = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"\\u00"',
      '"\\x"',
      '"',
      '1',
      '-0',
      '01',
      '1.',
      '1e5',
      '.5',
      'true',
      'nul',
      ' ',
      '\t',
      '\f',
      '"\u0001"',
      '-',
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(token, { maxLength: 9 }).map((parts) => parts.join('')),
          json.map((value) => JSON.stringify(value, null, 1)),
        ),
        (source) => {
          expect(isAccepted(source)).toBe(isJson(source))
        },
      ),
      { numRuns: 1500 },
    )
  })

  it('throws only Unscrubbable for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          scrubBytes(STRICT, Buffer.from(bytes))
        } catch (error) {
          expect(error).toBeInstanceOf(Unscrubbable)
        }
      }),
    )
  })
})

function isAccepted(source: string): boolean {
  try {
    DEFAULT.scrub(Buffer.from(source), 'event', 'event')
    return true
  } catch {
    return false
  }
}

function isJson(source: string): boolean {
  try {
    JSON.parse(source)
    return true
  } catch {
    return false
  }
}

describe('The time that scrubbing takes', () => {
  const seeds = [
    'f',
    ...[
      'a',
      '1',
      '@',
      '=',
      ':',
      '%40',
      '//',
      ' ',
      '-',
      'eyJ',
      'eyJ-',
      'a.',
      'a@',
      '@a.',
      'a@a.a',
      'bearer ',
      'bearer  ',
      'token=',
      'password="',
      'token:"\\',
      '4111 ',
      '4 1 1 1 ',
    ],
    ...[
      '-----BEGIN PRIVATE KEY-----',
      'DE89 ',
      'AA11AAAA',
      'f:',
      '::',
      '1.',
      '255.',
      'home/',
      '\\',
      '"',
      'sk-',
      'sk_live_',
      'AKIA',
      '//a',
      '//@',
      '-',
      '_',
      'a-',
      'cookie:',
      '%3d',
      'aa:',
      '\u00e9',
      '😀',
      '\n',
    ],
  ]

  it.each(seeds)('is in proportion to the size of a text that repeats %j', (seed) => {
    const time = (bytes: number, start: string) => {
      const message = start + seed.repeat(Math.ceil(bytes / seed.length))
      const payload = Buffer.from(JSON.stringify({ message }))
      const before = process.cpuUsage()
      STRICT.scrub(payload, 'event', 'event')
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    }
    time(20_000, '')
    expect(time(100_000, '')).toBeLessThan(1_000) // quadratic time would be seconds
    expect(time(100_000, ':: @ = // eyJ DE89 4')).toBeLessThan(1_000) // has what every detector looks for
  })

  it('is in proportion to the size of nested pairs', () => {
    const depth = 120
    const payload = Buffer.from(`${'["password",'.repeat(depth)}1${']'.repeat(depth)}`)
    const start = process.cpuUsage()
    STRICT.scrub(payload, 'event', 'event')
    expect(process.cpuUsage(start).user).toBeLessThan(1_000_000)
  })
})
