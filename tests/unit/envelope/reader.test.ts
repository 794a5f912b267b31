/** Parser of envelopes, for any division into chunks. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Rejection } from '../../../contract/rejections.ts'
import { MemoryBudget } from '../../../tunnel/src/envelope/body/memory-budget.ts'
import { createRangeRemover, mergeRanges, type Range } from '../../../tunnel/src/envelope/body/ranges.ts'
import { DEFAULT_HEADER_LIMITS, halveHeaderLimits } from '../../../tunnel/src/envelope/headers.ts'
import { type Envelope, EnvelopeReader, type ReaderLimits } from '../../../tunnel/src/envelope/reader.ts'
import { EVENT_ID, envelopeOf } from '../../support/envelopes.ts'
import { attempt, codeOf } from '../../support/rejection.ts'

const LIMITS: ReaderLimits = { ...DEFAULT_HEADER_LIMITS, items: 1_000, keep: () => true }

/** Valid envelopes, with the payload size of each item. */
const GOOD: [string, string, number[]][] = [
  ['a header alone', '{}', []],
  ['a header alone and its newline', '{}\n', []],
  ['a payload that ends at the newline', '{}\n{"type":"attachment"}\nhelloworld\n', [10]],
  ['a payload that ends with the body', '{}\n{"type":"session"}\n{"started":1}', [13]],
  ['empty items', empties('\n'), [0, 0]],
  ['empty items and one newline less', empties(''), [0, 0]],
  ['empty items and one newline more', empties('\n\n'), [0, 0]],
  ['an empty last item without a newline', '{}\n{"type":"attachment","length":0}', [0]],
  ['an empty last item without length or newline', '{}\n{"type":"attachment"}', [0]],
  ['an empty item without length', '{}\n{"type":"attachment"}\n\n{"type":"a"}\nb', [0, 1]],
  [
    'items with a length, one of them with a byte order mark and a carriage return in its payload',
    `{"event_id":"${EVENT_ID}"}\n{"type":"attachment","length":10,"filename":"h"}\n\ufeffHello\r\n\n{"type":"event","length":41}\n{"message":"hello world","level":"error"}\n`,
    [10, 41],
  ],
  ['an unknown item type', '{}\n{"type":"invalid_unknown"}\nhelloworld\n', [10]],
  ['a length of null', '{}\n{"type":"a","length":null}\nhello\n', [5]],
  ['a carriage return that belongs to the payload', '{}\n{"type":"a"}\nhello\r\n', [6]],
  ['a payload of newlines', '{}\n{"type":"a","length":3}\n\n\n\n', [3]],
  ['blank lines before and between headers', '\n\t {}\n\n\n{"type":"a"}\nb\n\r\n {"type":"c"}\nd', [1, 1]],
  ['an event_id with dashes', '{"event_id":"9ec79c33-ec99-42ab-8353-589fcb2e04dc"}', []],
  ['header values that are null', '{"event_id":null,"sent_at":null,"dsn":null}', []],
  ['a sent_at on 29 February of a leap year', '{"sent_at":"2028-02-29T03:04:05Z"}', []],
  ['a sent_at in UTC', '{"sent_at":"2026-01-02 03:04:05.5 utc"}', []],
  ['a sent_at with short numbers', '{"sent_at":"2026-1-2T3:4:5Z"}', []],
  ['a sent_at with a minus sign before its offset', '{"sent_at":"2026-01-02T03:04:05−05:00"}', []],
  ['a trace that is no object', '{"trace":"?"}', []],
]

const BAD: [string, string, string][] = [
  ['an empty body', '', 'empty-body'],
  ['blank lines only', '\n\n', 'item-malformed'],
  ['a blank line at the end', '{}\n\n', 'item-malformed'],
  ['a blank line after the last item', '{}\n{"type":"a"}\nb\n\n', 'item-malformed'],
  ['a space at the end', '{}\n{"type":"a"}\nb\n ', 'item-malformed'],
  ['a payload longer than its length', '{}\n{"type":"attachment","length":3}\nhelloworld', 'item-malformed'],
  ['a payload shorter than its length', '{}\n{"type":"attachment","length":99}\nhello', 'item-malformed'],
  ['a length without a payload', '{}\n{"type":"attachment","length":1}', 'item-malformed'],
  ['a carriage return after the header', '{}\r\n{"type":"event"}\r\n{}\r\n', 'not-an-envelope'],
  ['a carriage return after an item header', '{}\n{"type":"event"}\r\n{}\n', 'item-header-invalid'],
  ['a carriage return after a sized payload', '{}\n{"type":"a","length":1}\nb\r\n', 'item-malformed'],
  ['text', 'hello', 'not-an-envelope'],
  ['a header over two lines', '{\n}\n', 'not-an-envelope'],
  ['a header with a key twice, once escaped', '{"dsn":null,"\\u0064sn":null}', 'not-an-envelope'],
  ['an item header that is no object', '{}\nhello\n', 'item-header-invalid'],
  ['an item without a type', '{}\n{"length":0}\n', 'item-header-invalid'],
  ['an item whose type is a number', '{}\n{"type":1}\n', 'item-header-invalid'],
  ['an item whose type is null', '{}\n{"type":null}\n', 'item-header-invalid'],
  ['an item type that only Relay may send', '{}\n{"type":"integration"}\n{}', 'item-internal'],
  ['an internal item type written with an escape', '{}\n{"type":"integr\\u0061tion"}\n{}', 'item-internal'],
  ['an event_id that is no UUID', '{"event_id":"hello"}', 'header-invalid'],
  ['an event_id that is too long', `{"event_id":"${EVENT_ID}0"}`, 'header-invalid'],
  ['an event_id that is a number', '{"event_id":1}', 'header-invalid'],
  ['an empty event_id', '{"event_id":""}', 'header-invalid'],
  ['a sent_at that is no time', '{"sent_at":"yesterday"}', 'header-invalid'],
  ['a sent_at without a zone', '{"sent_at":"2026-01-02T03:04:05"}', 'header-invalid'],
  ['a sent_at in another zone by name', '{"sent_at":"2026-01-02T03:04:05 CET"}', 'header-invalid'],
  ['a sent_at with an offset of one day', '{"sent_at":"2026-01-02T03:04:05+24:00"}', 'header-invalid'],
  ['a sent_at at 24:00', '{"sent_at":"2026-01-02T24:00:00Z"}', 'header-invalid'],
  ['a sent_at without a time of day', '{"sent_at":"2026-01-02"}', 'header-invalid'],
  ['a sent_at in month 13', '{"sent_at":"2026-13-02T03:04:05Z"}', 'header-invalid'],
  ['a sent_at on 30 February', '{"sent_at":"2026-02-30T03:04:05Z"}', 'header-invalid'],
  ['a sent_at on 29 February of a common year', '{"sent_at":"2026-02-29T03:04:05Z"}', 'header-invalid'],
  ['a sent_at that is a number', '{"sent_at":1760000000}', 'header-invalid'],
  ['a dsn that is a number', '{"dsn":1}', 'header-invalid'],
  ['a dsn that is an object', '{"dsn":{}}', 'header-invalid'],
]

describe('EnvelopeReader', () => {
  it.each(GOOD)('accepts %s', (_, text, sizes) => {
    for (const envelope of readEveryWay(Buffer.from(text))) {
      expect(envelope.items.map(({ bytes }) => bytes)).toEqual(sizes)
      expect(envelope.bytes).toBe(Buffer.byteLength(text))
    }
  })

  it.each(BAD)('rejects %s', (_, text, code) => {
    for (const chunks of cutEveryWay(Buffer.from(text))) expect(codeOf(() => read(chunks))).toBe(code)
  })

  it.each('1e1 10.0 -1 -0 "10" 010 +10 4294967296 99999999999999999999 true [] {}'.split(' '))(
    'rejects the length %s',
    (length) => {
      const rejection = codeOf(() => read([Buffer.from(`{}\n{"type":"a","length":${length}}\n0123456789\n`)]))
      expect(rejection).toMatch(/^(item-header-invalid)$/)
    },
  )

  it('accepts the largest length, 4294967295, and waits for its bytes', () => {
    const rejection = codeOf(() => read([Buffer.from('{}\n{"type":"a","length":4294967295}\n01')]))
    expect(rejection).toBe('item-malformed')
  })

  it('accepts a header line of 64 KiB, and rejects a longer one before its end', () => {
    const fits = `{"a":"${'x'.repeat(64 * 1024 - 8)}"}`
    for (const [before, name] of [
      ['', '"b"'],
      ['{}\n', '"type"'],
    ] as const) {
      const line = fits.replace('"a"', name).replace('x'.repeat(name.length - 3), '')
      expect(line).toHaveLength(64 * 1024)
      expect(read([Buffer.from(`${before}${line}\n`)]).bytes).toBe(before.length + 64 * 1024 + 1)
      const reader = new EnvelopeReader(LIMITS)
      expect(codeOf(() => reader.push(Buffer.from(`${before}${line.slice(0, -1)}xx`)))).toBe(
        'header-too-large',
      )
    }
  })

  it('accepts 1,000 items and rejects 1,001', () => {
    const item = '{"type":"a"}\nb\n'
    expect(read([Buffer.from(`{}\n${item.repeat(1_000)}`)]).items).toHaveLength(1_000)
    expect(codeOf(() => read([Buffer.from(`{}\n${item.repeat(1_001)}`)]))).toBe('too-many-items')
  })

  it('rejects header lines of more than 1 MiB in total', () => {
    const item = `{"type":"a","x":"${'x'.repeat(60_000)}"}\n\n`
    expect(read([Buffer.from(`{}\n${item.repeat(17)}`)]).items).toHaveLength(17)
    const fitting = Buffer.from(`{}\n${item.repeat(17)}`)
    for (const chunks of cutEveryWay(Buffer.from(item)))
      expect(codeOf(() => read([fitting, ...chunks]))).toBe('headers-too-large')
  })

  it.each([
    ['envelope', (header: string) => `${header}\n`],
    ['item', (header: string) => `{}\n${header}\n`],
  ])('accepts 100 keys and 16 levels in an %s header, and rejects one more', (_, within) => {
    const keys = (count: number) => `{"type":"a"${keysOf(count - 1)}}`
    const levels = (count: number) => `{"type":"a","x":${'['.repeat(count - 1)}${']'.repeat(count - 1)}}`
    for (const fits of [keys(100), levels(16)]) read([Buffer.from(within(fits))])
    for (const exceeds of [keys(101), levels(17)])
      expect(codeOf(() => read([Buffer.from(within(exceeds))]))).toBe('header-too-complex')
  })

  it('rejects headers with more than 20,000 values in total before it parses them', () => {
    const item = `{"type":"a","x":[${'{},'.repeat(9_000)}{}]}\n\n`
    expect(read([Buffer.from(`{}\n${item}`)]).items).toHaveLength(1)
    for (const chunks of cutEveryWay(Buffer.from(`{}\n${item}${item}`)))
      expect(codeOf(() => read(chunks))).toBe('header-too-complex')
    const ofStrings = `{}\n{"type":"a","x":["${Array(20_001).join('","')}"]}\n\n`
    expect(codeOf(() => read([Buffer.from(ofStrings)], { ...LIMITS, headerBytes: 100_000 }))).toBe(
      'header-too-complex',
    )
  })

  it('halves the limit of values with halveHeaderLimits, and keeps the limit of a header line', () => {
    const limits = { ...LIMITS, ...halveHeaderLimits(LIMITS) }
    const long = `{"x":"${'x'.repeat(60_000)}"}\n`
    expect(read([Buffer.from(long)], limits).items).toEqual([])
    expect(codeOf(() => read([Buffer.from(`{"type":"a"${keysOf(50)}}\n`)], limits))).toBe(
      'header-too-complex',
    )
  })

  it('calls onHeader after the header line, and for the header {} after the first item', () => {
    const told: unknown[] = []
    const onHeader = (header: Envelope['header']) => void told.push(header)
    const first = new EnvelopeReader(LIMITS, { onHeader })
    first.push(Buffer.from('{"dsn":"a"}\n'))
    expect(told).toEqual([{ dsn: 'a' }])
    first.push(Buffer.from('{"type":"a"}\n\n'))
    expect(told).toHaveLength(1)
    const second = new EnvelopeReader(LIMITS, { onHeader })
    second.push(Buffer.from('{}\n'))
    expect(told).toHaveLength(1)
    second.push(Buffer.from('no header\n'.slice(0, 9)))
    expect(told).toHaveLength(1)
    expect(codeOf(() => second.push(Buffer.from('\n')))).toBe('item-header-invalid')
    expect(told).toEqual([{ dsn: 'a' }, {}])
  })

  it('reserves memory for headers and kept payloads, and releases it', () => {
    const memory = new MemoryBudget(1024, 0)
    const reader = new EnvelopeReader({ ...LIMITS, keep: (type) => type === 'event' }, { memory })
    reader.push(Buffer.from('{}\n{"type":"event"}\n12345\n{"type":"a"}\n1234567890\n'))
    expect(memory.usedBytes()).toBe(2 + 16 + 12 + 2 * 160 + 400 + 5)
    reader.dropPayload()
    expect(memory.usedBytes()).toBe(2 + 16 + 12 + 2 * 160)
    reader.release()
    expect(memory.usedBytes()).toBe(0)
  })

  it('returns the event_id, the used header keys and the byte range of each item', () => {
    const bytes = Buffer.from(
      `{"event_id":"${EVENT_ID}","x":1}\n{"type":"a","y":[2],"platform":"b"}\nb\n{"type":"c"}\nd`,
    )
    for (const { eventId, header, items } of readEveryWay(bytes)) {
      expect(eventId).toBe(EVENT_ID)
      expect(header).toEqual({ event_id: EVENT_ID })
      expect(items.map(({ type, header }) => ({ type, header }))).toEqual([
        { type: 'a', header: { platform: 'b' } },
        { type: 'c', header: {} },
      ])
      expect(items.map(({ range: [start, end] }) => String(bytes.subarray(start, end)))).toEqual([
        '{"type":"a","y":[2],"platform":"b"}\nb\n',
        '{"type":"c"}\nd',
      ])
    }
  })

  it('keeps only payloads of the requested item types', () => {
    const reader = new EnvelopeReader({ ...LIMITS, keep: (type) => type === 'event' })
    reader.push(Buffer.from('{}\n{"type":"event"}\nseen\n{"type":"attachment"}\nunseen\n'))
    expect(reader.end().items.map(({ payload }) => String(Buffer.concat(payload)))).toEqual(['seen', ''])
  })

  it('does not copy a payload that it keeps', () => {
    const chunk = Buffer.from('{}\n{"type":"event","length":4}\nhere\n')
    const [item] = read([chunk]).items
    chunk.write('gone', chunk.indexOf('here'))
    expect(String(item?.payload[0])).toBe('gone')
  })
})

describe('Keys that only Relay may write', () => {
  const ENVELOPE = [
    'client',
    'version',
    'origin',
    'remote_addr',
    'forwarded_for',
    'user_agent',
    'client_hints',
  ]
  const INTERNAL = ['no_cache', 'retention', 'downsampled_retention', 'required_features']
  const ITEM = ['rate_limited', 'source_quantities', 'metrics_extracted', 'spans_extracted', 'sampled']
  const NEWER = ['fully_normalized', 'routing_hint']

  it.each([...ENVELOPE, ...INTERNAL])(
    '%s is removed from the envelope header, also when it is written with escapes',
    (key) => {
      for (const written of spellings(key))
        expect(cut(`{"a":1,${written}:{"b":"}"},"c":2}\n{"type":"x",${written}:1}\ny`)).toBe(
          `{"a":1,"c":2}\n{"type":"x",${written}:1}\ny`,
        )
    },
  )

  it.each([...ITEM, ...NEWER])(
    '%s is removed from item headers, also when it is written with escapes',
    (key) => {
      for (const written of spellings(key))
        expect(
          cut(`{${written}:1}\n\n{${written}:[1],"type":"x","length":1}\ny\n{"type":"z", ${written} : 2 }\n`),
        ).toBe(`{${written}:1}\n\n{"type":"x","length":1}\ny\n{"type":"z" }\n`)
    },
  )

  it('are kept in payloads and in nested objects', () => {
    const text = '{"trace":{"client":1}}\n{"type":"x","meta":{"sampled":1}}\n{"client":1,"sampled":1}\n'
    expect(cut(text)).toBe(text)
  })
})

describe('A legacy secret in the DSN', () => {
  const dsn = (text: string) => `{"event_id":"${'a'.repeat(32)}","dsn":${text} ,"sdk":{}}\n{"type":"x"}\ny\n`

  it.each([
    '"https://key:secret@sentry.example:9000/a/7"',
    '"https:\\/\\/key:secret@sentry.example:9000\\/a\\/7"',
    '"https://key\\u003asecret@sentry.example:9000/a/7"',
    '"https://key:@sentry.example:9000/a/7"',
  ])('is removed from %s', (text) => {
    expect(cut(dsn(text))).toBe(dsn('"https://key@sentry.example:9000/a/7"'))
  })

  it('leaves a DSN without one as it is', () => {
    const text = dsn('"https:\\/\\/key@sentry.example:9000\\/a\\/7"')
    expect(cut(text)).toBe(text)
  })
})

describe('Removing an item', () => {
  it('also removes the blank line before it, so that the envelope stays valid', () => {
    const text = '{}\n{"type":"session"}\n{}\n\n{"type":"event"}\n{}\n'
    const { items } = read([Buffer.from(text)])
    const [start, end] = items[1]?.range ?? [0, 0]
    const left = `${text.slice(0, start)}${text.slice(end)}`
    expect(left).toBe('{}\n{"type":"session"}\n{}\n')
    expect(read([Buffer.from(left)]).items).toHaveLength(1)
  })
})

type Built = { bytes: Buffer; parts: { header: Record<string, unknown>; payload: Buffer }[] }

describe('EnvelopeReader, for generated envelopes', () => {
  it('returns the items as they were built, with ranges that cover all bytes', () => {
    fc.assert(
      fc.property(built(), cutting(), ({ bytes, parts }, sizes) => {
        const { items, eventId } = read(cutBy(bytes, sizes))
        expect(items.map(({ type }) => type)).toEqual(parts.map((part) => part.header.type))
        expect(items.map(({ payload }) => Buffer.concat(payload))).toEqual(
          parts.map(({ payload }) => payload),
        )
        expect(items.map((item) => item.bytes)).toEqual(parts.map(({ payload }) => payload.length))
        const first = items[0]?.range[0] ?? bytes.length
        expect(JSON.parse(bytes.toString('utf8', 0, first)).event_id).toEqual(eventId)
        expect(joined(bytes, [[0, first], ...items.map(({ range }) => range)]).equals(bytes)).toBe(true)
      }),
    )
  })

  it('parses or rejects an envelope after random mutations, and never crashes', () => {
    fc.assert(
      fc.property(
        built(),
        fc.array(mutation(), { minLength: 1, maxLength: 4 }),
        cutting(),
        (made, changes, sizes) => {
          const bytes = changes.reduce(change, made.bytes)
          const outcome = attempt(() => read(cutBy(bytes, sizes)))
          if (outcome instanceof Rejection) return
          expect(outcome.bytes).toBe(bytes.length)
          for (const { range } of outcome.items) expect(range[1]).toBeLessThanOrEqual(bytes.length)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('rejects random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const outcome = attempt(() => read([Buffer.from(bytes)]))
        expect(outcome instanceof Rejection || outcome.items.length === 0).toBe(true)
      }),
    )
  })
})

function empties(end: string): string {
  const item = '{"type":"attachment","length":0}'
  return `{"event_id":"${EVENT_ID}"}\n${item}\n\n${item}${end}`
}

function keysOf(count: number): string {
  return Array.from({ length: count }, (_, n) => `,"k${n}":1`).join('')
}

function read(chunks: Buffer[], limits = LIMITS): Envelope {
  const reader = new EnvelopeReader(limits)
  for (const chunk of chunks) reader.push(chunk)
  return reader.end()
}

function readEveryWay(bytes: Buffer): Envelope[] {
  return cutEveryWay(bytes).map((chunks) => read(chunks))
}

/** Returns the bytes as one chunk, byte by byte, and in chunks of irregular sizes. */
function cutEveryWay(bytes: Buffer): Buffer[][] {
  return [[bytes], cutBy(bytes, [1]), cutBy(bytes, [3, 1, 7]), cutBy(bytes, [2, 5]), cutBy(bytes, [13, 1, 1])]
}

function cutBy(bytes: Buffer, sizes: number[]): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? bytes.length
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  return chunks
}

function spellings(key: string): string[] {
  const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`
  return [
    `"${key}"`,
    `"${key.slice(0, 3)}${escaped(key[3] ?? '')}${key.slice(4)}"`,
    `"${[...key].map(escaped).join('')}"`,
  ]
}

/** Returns the remaining text of an envelope, which is the same for every division into chunks. */
function cut(text: string): string {
  const bytes = Buffer.from(text)
  const left = readEveryWay(bytes).map(({ removedRanges }) =>
    String(Buffer.concat(createRangeRemover(mergeRanges(removedRanges))(bytes))),
  )
  expect(new Set(left).size).toBe(1)
  return left[0] ?? ''
}

function joined(bytes: Buffer, ranges: Range[]): Buffer {
  return Buffer.concat(ranges.map(([start, end]) => bytes.subarray(start, end)))
}

function built(): fc.Arbitrary<Built> {
  const extra = fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 5 }), fc.jsonValue({ maxDepth: 1 }), {
    maxKeys: 3,
  })
  const header = extra.map(({ event_id, sent_at, dsn, ...rest }) => ({ event_id: EVENT_ID, ...rest }))
  const part = fc
    .record({
      type: fc.constantFrom('event', 'attachment', 'replay_recording', 'unheard_of', ''),
      extra,
      payload: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      sized: fc.boolean(),
    })
    .map(({ type, extra, payload, sized }) => ({
      header: plain({ ...extra, type, length: sized || payload.includes(10) ? payload.length : null }),
      payload,
    }))
  return fc
    .record({ header, parts: fc.array(part, { maxLength: 5 }), ended: fc.boolean() })
    .map(({ header, parts, ended }) => {
      const bytes = envelopeOf(header, parts)
      return { bytes: ended ? bytes : bytes.subarray(0, -1), parts }
    })
}

/** Returns the value as JSON parses it. */
function plain(value: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(JSON.stringify(value))
}

function cutting(): fc.Arbitrary<number[]> {
  return fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 })
}

type Mutation = { kind: 'flip' | 'insert' | 'delete' | 'truncate'; at: number; byte: number }

function mutation(): fc.Arbitrary<Mutation> {
  return fc.record({
    kind: fc.constantFrom('flip', 'insert', 'delete', 'truncate'),
    at: fc.nat(),
    byte: fc.oneof(fc.integer({ min: 1, max: 255 }), fc.constantFrom(0x0a, 0x22, 0x5c, 0x7b, 0x7d, 0x20)),
  })
}

function change(bytes: Buffer, { kind, at, byte }: Mutation): Buffer {
  const place = at % (bytes.length + 1)
  const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)]
  if (kind === 'truncate') return before
  if (kind === 'insert') return Buffer.concat([before, Buffer.from([byte]), after])
  if (kind === 'delete') return Buffer.concat([before, after.subarray(1)])
  return Buffer.concat([before, Buffer.from([(after[0] ?? 0) ^ byte]), after.subarray(1)])
}
