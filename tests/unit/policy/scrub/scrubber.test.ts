import { describe, expect, it } from 'vitest'
import { Unscrubbable } from '../../../../tunnel/src/policy/scrub/json-scanner.ts'
import { captures } from '../../../support/sdk-captures.ts'
import { DEFAULT, metaOf, STRICT, scrubText, scrubValue } from './scrub-json.ts'

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N'

describe('SCRUB=default', () => {
  it.each([
    ['an email address', 'to jane@example.com!', 'to [email]!'],
    [
      'an encoded email address',
      'https://a.example/?to=jane%40example.com&b=1',
      'https://a.example/?to=[email]&b=1',
    ],
    ['a card number', 'card 4111-1111 1111 1111 12/26', 'card [creditcard] 12/26'],
    ['an IBAN', 'to GB29NWBK60161331926819.', 'to [iban].'],
    ['an IBAN in groups', 'DE89 3704 0044 0532 0130 00 EUR', '[iban] EUR'],
    ['a JWT', `id ${JWT}`, 'id [jwt]'],
    ['an API key', 'with sk_live_4eC39HqLyjWDarjtT1zdp7dc', 'with [key]'],
    ['a bearer token', 'got Bearer abc.def', 'got [Filtered]'],
    ['credentials of a URL', 'ftp://jane:pw@a.example/x', 'ftp://[Filtered]@a.example/x'],
    ['a secret in a query', '/x?token=abc&page=2', '/x?token=[Filtered]&page=2'],
    ['a secret in an encoded query', '?next=%2Fin%3Fpwd%3Dabc', '?next=%2Fin%3Fpwd%3D[Filtered]'],
    ['a secret in JSON', '{"password":"a \\"b c","n":1}', '{"password":"[Filtered]","n":1}'],
    [
      'a secret in JSON in JSON',
      '{\\"secret\\":\\"a b\\",\\"n\\":1}',
      '{\\"secret\\":\\"[Filtered]\\",\\"n\\":1}',
    ],
    ['a header', 'Cookie: a=b; c=d\nHost: x', 'Cookie: [Filtered]\nHost: x'],
    ['a private key', '-----BEGIN PRIVATE KEY-----\nMII', '-----BEGIN PRIVATE KEY-----[Filtered]'],
  ])('redacts %s', (_, text, expected) => {
    expect(scrubValue(DEFAULT, { message: text })).toEqual({ message: expected })
  })

  it.each([
    'SyntaxError: Unexpected token: punc (})',
    'used 12 tokens: 8 in, 4 out',
    'order 4111-1111-1111-1112 has a wrong check digit',
    'at https://a.example/@scope/app.js:10:37071',
    'author: Jane, page=2',
    'See you @ 10:30',
    '2026-11-22T23:17:00.123456789Z',
  ])('keeps %j', (message) => {
    expect(scrubText(DEFAULT, JSON.stringify({ message }))).toBe(JSON.stringify({ message }))
  })

  it.each([
    'password',
    'user_password',
    'X-Api-Key',
    'clientSecret',
    'accessToken',
    'Authorization',
    'PHPSESSID',
    'csrf_token',
    'cookies',
  ])('redacts the value of %s', (name) => {
    expect(scrubValue(DEFAULT, { extra: { [name]: 'abc', other: 'abc' } })).toEqual({
      extra: { [name]: '[Filtered]', other: 'abc' },
    })
  })

  it.each(['author', 'token_count_total_tokens', 'tokenizer', 'passenger', 'keyboard', 'session', 'monkey'])(
    'keeps the value of %s',
    (name) => {
      expect(scrubValue(DEFAULT, { [name]: 'abc' })).toEqual({ [name]: 'abc' })
    },
  )

  it('removes objects, arrays and numbers with the name of a secret', () => {
    const secrets = { password: { a: 'b' }, secrets: [1], pin: 1234, cookies: { a: 'b' } }
    expect(scrubValue(DEFAULT, secrets)).toEqual({ password: null, secrets: null, pin: null, cookies: null })
  })

  it('redacts the value of a pair', () => {
    const headers = [
      ['Cookie', 'a=b'],
      ['Accept', 'x'],
    ]
    expect(scrubValue(DEFAULT, { headers })).toEqual({
      headers: [
        ['Cookie', '[Filtered]'],
        ['Accept', 'x'],
      ],
    })
  })

  it('redacts personal data in the name of a member', () => {
    expect(scrubValue(DEFAULT, { extra: { 'jane@example.com': 1 } })).toEqual({ extra: { '[email]': 1 } })
  })

  it('removes a card number that is a JSON number', () => {
    expect(scrubText(DEFAULT, '{"extra":{"card":4111111111111111,"id":12345678901234567890}}')).toContain(
      '{"card":null,"id":12345678901234567890}',
    )
  })

  it('redacts every one of several members with the same name', () => {
    expect(scrubText(DEFAULT, '{"a":"x@y.example","a":"z@y.example"}')).toContain(
      '{"a":"[email]","a":"[email]",',
    )
  })

  it('redacts texts in fields for identifiers, and fields of other objects with the names of protected ones', () => {
    const event = {
      contexts: { trace: { trace_id: 'jane@example.com' } },
      extra: { release: 'jane@example.com' },
    }
    expect(scrubValue(DEFAULT, event)).toEqual({
      contexts: { trace: { trace_id: '[email]' } },
      extra: { release: '[email]' },
    })
  })

  it('reads names with escapes', () => {
    expect(scrubText(DEFAULT, '{"extra":{"pass\\u0077ord":"abc"}}')).toContain(
      '"pass\\u0077ord":"[Filtered]"',
    )
  })

  it('sees through escapes, and keeps the bytes around them', () => {
    const before = '{"a":"\\u00e9 jane\\u0040example.com \\ud83d\\ude00 é 😀 \\/"'
    expect(scrubText(DEFAULT, `${before}}`)).toMatch(/^\{"a":"\\u00e9 \[email\] \\ud83d\\ude00 é 😀 \\\/",/)
  })

  it('keeps places in the code, and redacts the query of their URLs', () => {
    const frame = { filename: 'https://a.example/jquery@3.6.0.min.js?token=abc', function: 'a.b@c.example' }
    const values = (its: object) => ({ exception: { values: [{ stacktrace: { frames: [its] } }] } })
    expect(scrubValue(DEFAULT, values(frame))).toEqual(
      values({ ...frame, filename: 'https://a.example/jquery@3.6.0.min.js?token=[Filtered]' }),
    )
  })

  it('keeps identifiers and the release', () => {
    const event = {
      event_id: '4111111111111111'.repeat(2),
      release: 'shop@1.2.3-beta.example',
      contexts: { trace: { trace_id: 'a'.repeat(32), span_id: '4111111111111111' } },
      debug_meta: { images: [{ code_file: 'a@b.example.js' }] },
    }
    expect(scrubValue(STRICT, event)).toEqual(event)
  })

  it('changes nothing but the email address of the user in events that SDKs sent', () => {
    const items = captures().flatMap(({ body }) => payloadsOf(body))
    expect(items.length).toBeGreaterThan(30)
    for (const payload of items)
      expect(scrubText(DEFAULT, payload).replace(/,"_meta":.*$/, '}')).toBe(
        payload.replace('"a@shop.example"', '"[email]"'),
      )
  })
})

/** Returns the payloads of errors and transactions. */
function payloadsOf(body: Buffer): string[] {
  const lines = body.toString('latin1').split('\n')
  return lines.filter((_, index) => /^\{"type":"(event|transaction)"/.test(lines[index - 1] ?? ''))
}

describe('SCRUB=strict', () => {
  it.each([
    ['IP addresses', '10.1.2.3, fe80::1, ::ffff:10.0.0.1', '[ip], [ip], [ip]'],
    ['MAC addresses', 'at aa:bb:cc:dd:ee:ff', 'at [mac]'],
    ['UUIDs', 'id 123e4567-e89b-12d3-a456-426614174000', 'id [uuid]'],
    ['users in paths', '/home/jane/x C:\\Users\\Jane Doe\\y', '/home/[user]/x C:\\Users\\[user]\\y'],
  ])('redacts %s', (_, text, expected) => {
    expect(scrubValue(STRICT, { message: text })).toEqual({ message: expected })
  })

  it.each(['at 12:30:45', 'Foo::Bar', 'v1.2.3.400'])('keeps %j', (message) => {
    expect(scrubValue(STRICT, { message })).toEqual({ message })
  })

  it('keeps the versions of browsers', () => {
    const event = { request: { headers: { 'User-Agent': 'Chrome/120.0.0.0' } } }
    expect(scrubValue(STRICT, event)).toEqual(event)
  })
})

describe('_meta', () => {
  it('has a remark with a range in bytes for each redacted part, and the length before in characters', () => {
    expect(metaOf(DEFAULT, { user: { name: 'é 😀 jane@example.com' } })).toEqual({
      user: { name: { '': { rem: [['@email:replace', 's', 8, 15]], len: 20 } } },
    })
  })

  it('has a remark without a range for a removed value', () => {
    expect(metaOf(DEFAULT, { extra: [{ password: {} }] })).toEqual({
      extra: { 0: { password: { '': { rem: [['@password:filter', 'x']] } } } },
    })
  })

  it('is added to the one that the event has, whose original values are scrubbed', () => {
    const known = {
      a: { '': { len: 5 } },
      password: { '': { val: 'hunter2' } },
      b: { '': { val: 'a@b.example' } },
    }
    expect(metaOf(DEFAULT, { _meta: known, c: 'jane@example.com' })).toEqual({
      a: { '': { len: 5 } },
      password: { '': { val: '[Filtered]' } },
      b: { '': { val: '[email]' } },
      c: { '': { rem: [['@email:replace', 's', 0, 7]], len: 16 } },
    })
  })

  it('stands in each element of a container', () => {
    const log = (body: string, more: object) => ({
      body,
      attributes: { token: { value: 'abc', type: 'string' } },
      ...more,
    })
    const text = scrubText(
      DEFAULT,
      JSON.stringify({ items: [log('a@b.example', {}), { body: 'b' }] }),
      'log',
      'container',
    )
    expect(JSON.parse(text)).toEqual({
      items: [
        {
          body: '[email]',
          attributes: { token: { value: '[Filtered]', type: 'string' } },
          _meta: {
            body: { '': { rem: [['@email:replace', 's', 0, 7]], len: 11 } },
            attributes: { token: { value: { '': { rem: [['@password:filter', 's', 0, 10]], len: 3 } } } },
          },
        },
        { body: 'b' },
      ],
    })
  })

  it('is left out where it would make an event larger than Sentry accepts', () => {
    const filler = 'x'.repeat(1024 * 1024 - 40)
    const text = scrubText(DEFAULT, JSON.stringify({ filler, a: 'a@b.example' }))
    expect(text).not.toContain('_meta')
    expect(text).toContain('"a":"[email]"')
  })
})

describe('A payload that Sentry would not parse, or with too many secrets', () => {
  it.each([
    ['invalid UTF-8', Buffer.from('{"a":"\xff"}', 'latin1')],
    ['128 levels', Buffer.from('['.repeat(128) + ']'.repeat(128))],
    ['a part of an event', Buffer.from('{"a":"jane@example.com"')],
    ['two values', Buffer.from('{} {}')],
    ['nothing', Buffer.from('')],
    ['20,001 secrets', Buffer.from(JSON.stringify(Array(20_001).fill('a@b.example')))],
  ])('is not scrubbed: %s', (_, payload) => {
    expect(() => DEFAULT.scrub(payload, 'event', 'event')).toThrow(Unscrubbable)
  })

  it('has at most 127 levels', () => {
    expect(DEFAULT.scrub(Buffer.from('['.repeat(127) + ']'.repeat(127)), 'event', 'event').edits).toEqual([])
  })
})
