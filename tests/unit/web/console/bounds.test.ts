/** Bounds of what the console reads and shows of an envelope. */

import { describe, expect, it } from 'vitest'
import { PAGE_CHARACTERS, READ_BYTES, ROWS } from '../../../../web/features/console/bounds.ts'
import { findItem, parseEnvelope, parseJson } from '../../../../web/features/console/inbox/envelope.ts'
import { type EnvelopeModel, modelEnvelope } from '../../../../web/features/console/inbox/envelope-model.ts'
import { formatJson, formatJsonLine } from '../../../../web/lib/format-json.ts'
import { envelopeOf, type Part } from '../../../support/envelopes.ts'
import { captures } from '../../../support/sdk-captures.ts'

const of = (type: string, payload: string | Buffer, more = {}): Part => ({
  header: { type, length: Buffer.byteLength(payload), ...more },
  payload,
})
const many = (count: number, each: string) => `[${Array(count).fill(each).join()}]`
const members = (count: number, value: string) =>
  `{${Array.from({ length: count }, (_, n) => `"k${n}":${value}`).join()}}`
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
const LONG = 'x'.repeat(900_000)

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const modelOf = (parts: Part[], from = 0) => {
  const bytes = envelopeOf({}, parts)
  return modelEnvelope(chunksOf(bytes, 65_536), bytes.length, from)
}

/** Characters and rows of all that a model holds. */
function sizeOf(value: unknown): { characters: number; rows: number } {
  if (typeof value === 'string') return { characters: value.length, rows: 0 }
  if (typeof value !== 'object' || value === null) return { characters: 0, rows: 0 }
  const sizes = Object.values(value).map(sizeOf)
  return {
    characters: sizes.reduce((sum, { characters }) => sum + characters, 0),
    rows: sizes.reduce((sum, { rows }) => sum + rows, Array.isArray(value) ? value.length : 0),
  }
}

const frame = JSON.stringify({
  ...{ function: 'f'.repeat(300), filename: 'p'.repeat(600), lineno: 1, context_line: 'c'.repeat(500) },
  ...{ pre_context: Array(5).fill('b'.repeat(500)), post_context: Array(5).fill('a'.repeat(500)) },
})
const exceptions = (count: number, frames: number) =>
  `{"exception":{"values":${many(count, `{"type":"T","value":"V","stacktrace":{"frames":${many(frames, frame)}}}`)}}}`

const HOSTILE: [what: string, parts: Part[]][] = [
  ['contexts that are nested', [of('event', `{"contexts":${members(200, nested(47))}}`)]],
  ['a context that is nested too deep', [of('event', `{"contexts":{"a":${nested(100_000)}}}`)]],
  ['wide contexts', [of('event', `{"contexts":{"a":${members(80_000, '1')}}}`)]],
  ['many contexts', [of('event', `{"contexts":${members(100_000, '1')}}`)]],
  ['many tags', [of('event', `{"tags":${members(80_000, '"v"')}}`)]],
  ['many tags in pairs', [of('event', `{"tags":${many(80_000, '["a","b"]')}}`)]],
  ['long texts', [of('event', `{"message":"${LONG}","transaction":"${LONG}"}`)]],
  ['a long exception', [of('event', `{"exception":[{"type":"${LONG}","value":"${LONG}"}]}`)]],
  ['many exceptions', [of('event', `{"exception":{"values":${many(300_000, '{}')}}}`)]],
  ['many frames', [of('event', exceptions(1, 200))]],
  ['many frames of many exceptions', [of('event', exceptions(20, 15))]],
  ['many breadcrumbs', [of('event', `{"breadcrumbs":${many(20_000, '{"message":"m","data":{"a":1}}')}}`)]],
  ['long breadcrumbs', [of('event', `{"breadcrumbs":${many(100, `{"message":"${'m'.repeat(9_000)}"}`)}}`)]],
  ['breadcrumbs with wide data', [of('event', `{"breadcrumbs":[{"data":${members(80_000, '1')}}]}`)]],
  [
    'many spans',
    [
      of(
        'transaction',
        `{"start_timestamp":1,"spans":${many(20_000, '{"description":"d","start_timestamp":2}')}}`,
      ),
    ],
  ],
  [
    'long spans',
    [of('span', `{"items":${many(200, `{"name":"${'n'.repeat(5_000)}","start_timestamp":1}`)}}`)],
  ],
  ['many log lines', [of('log', `{"items":${many(60_000, '{"body":"b"}')}}`)]],
  ['many metrics', [of('trace_metric', `{"items":${many(60_000, '{"name":"b"}')}}`)]],
  ['many events', Array.from({ length: 500 }, () => of('event', `{"message":"${'m'.repeat(2_000)}"}`))],
  ['many text items', Array.from({ length: 1_000 }, () => of('text', 't'.repeat(20_000)))],
  [
    'many attachments',
    Array.from({ length: 1_000 }, () => of('attachment', 'a', { filename: 'f'.repeat(5_000) })),
  ],
  ['long item headers', Array.from({ length: 200 }, () => of('x'.repeat(60_000), '{}'))],
  [
    'many events without a length',
    Array.from({ length: 900 }, () => ({
      header: { type: 'event' },
      payload: `{"a":"${'x'.repeat(9_000)}"}`,
    })),
  ],
  ['many empty events', Array.from({ length: 20_000 }, () => of('event', ''))],
  [
    'an event without a length that is too long',
    [{ header: { type: 'event' }, payload: `{"a":"${'x'.repeat(3_000_000)}"}` }],
  ],
  ['a long envelope of one item', [of('event', `{"a":"${'x'.repeat(3_000_000)}"}`)]],
]

describe('modelEnvelope', () => {
  it.each(HOSTILE)(
    'bounds the characters and rows of %s, and says that it is shortened',
    async (_, parts) => {
      const model = await modelOf(parts)
      const { characters, rows } = sizeOf(model)
      // Beside the budgets: the title, and each item's header once more in its attachment.
      const slack = 70_000
      expect(characters).toBeLessThan(PAGE_CHARACTERS.readable + PAGE_CHARACTERS.raw + slack)
      expect(rows).toBeLessThan(1_000)
      const { shown, total } = model.items
      expect(model.isShort || shown.length < total || shown.some(({ part }) => part)).toBe(true)
    },
  )

  it('says how many entries a list has', async () => {
    const [event] = (
      await modelOf([
        of(
          'event',
          JSON.stringify({
            exception: { values: [{ stacktrace: { frames: Array(150).fill({ function: 'f' }) } }] },
            breadcrumbs: Array.from({ length: 300 }, (_, n) => ({ message: `crumb ${n}` })),
            tags: JSON.parse(members(120, '1')),
            contexts: JSON.parse(members(70, '1')),
          }),
        ),
      ])
    ).events
    expect(event?.exceptions.shown[0]?.frames).toMatchObject({ total: 150, shown: { length: ROWS.frames } })
    expect(event?.breadcrumbs).toMatchObject({ total: 300, shown: { length: ROWS.breadcrumbs } })
    expect(event?.breadcrumbs.shown.at(-1)?.text).toBe('crumb 299')
    expect(event?.tags).toMatchObject({ total: 120, shown: { length: ROWS.facts } })
    expect(event?.contexts).toMatchObject({ total: 70, shown: { length: ROWS.contexts } })
  })

  it('shows items in pages, and finds an event on a later page', async () => {
    const parts = [
      ...Array.from({ length: 120 }, (_, n) => of('text', `item ${n}`)),
      of('event', '{"message":"found"}'),
    ]
    const numbersOf = ({ items }: EnvelopeModel) => items.shown.map(({ number }) => number)
    const first = await modelOf(parts)
    expect([first.title, first.items.total]).toEqual(['found', 121])
    expect(numbersOf(first)).toEqual(Array.from({ length: 50 }, (_, n) => n))
    expect(numbersOf(await modelOf(parts, 100))).toEqual(Array.from({ length: 21 }, (_, n) => 100 + n))
  })

  it('names an item that is too large to be parsed', async () => {
    const payload = `{"items":["${'x'.repeat(READ_BYTES.parsed)}"]}`
    const model = await modelOf([of('log', payload)])
    expect(model.unread).toEqual([{ type: 'log', bytes: payload.length }])
  })

  it('says when only the beginning of an envelope was read', async () => {
    const bytes = envelopeOf({}, [of('text', 'short')])
    const whole = await modelEnvelope(chunksOf(bytes, 10), bytes.length, 0)
    const cut = await modelEnvelope(chunksOf(bytes, 10), bytes.length + 1, 0)
    expect([whole.isShort, cut.isShort, cut.bytesRead]).toEqual([false, true, bytes.length])
  })

  it('bounds the title, and does not parse a truncated payload for it', async () => {
    const event = of('event', `{"message":"${'m'.repeat(10_000)}"}`)
    expect((await modelOf([event])).title).toMatch(/^m{100,400}…$/)
    const bytes = envelopeOf({}, [event]).subarray(0, 5_000)
    expect((await modelEnvelope(chunksOf(bytes, 1_000), bytes.length, 0)).title).toBe('event')
  })

  it('says how much of a text is shown, and does not split a character', async () => {
    const model = await modelOf([
      of('text', 'ü'.repeat(100_000)),
      of('text', 'short'),
      of('blob', Buffer.from([0xff, 0xfe])),
    ])
    const [long, short, blob] = model.items.shown
    expect(long?.part).toBe('The first 16 KB of 200 KB.')
    expect(long?.text).toMatch(/^ü+…$/)
    expect(short).toMatchObject({ text: 'short', part: undefined })
    expect(blob?.text).toBeUndefined()
  })

  it('shows all spans, log lines, frames, breadcrumbs, tags and contexts of captures from real SDKs', async () => {
    for (const { name, body } of captures()) {
      const { events, unread, ...model } = await modelEnvelope(chunksOf(body, 1_000), body.length, 0)
      const whole = await parseEnvelope(chunksOf(body, body.length), () => body.length)
      const read = whole.items.map(({ type, payload }) => ({ type, json: parseJson(String(payload)) }))
      const countOf = (wanted: string) =>
        read.reduce(
          (sum, { type, json }) => (type === wanted ? sum + (Object(json).items?.length ?? 1) : sum),
          0,
        )
      for (const [type, list] of [
        ['span', model.spans],
        ['log', model.logs],
        ['trace_metric', model.metrics],
      ] as const)
        expect([name, type, list.shown.length]).toEqual([name, type, countOf(type)])
      expect([name, events.length, unread]).toEqual([
        name,
        read.filter(({ type }) => ['event', 'transaction', 'feedback'].includes(type)).length,
        [],
      ])
      for (const { exceptions, breadcrumbs, tags, contexts } of events) {
        const lists = [
          exceptions,
          breadcrumbs,
          tags,
          contexts,
          ...exceptions.shown.map(({ frames }) => frames),
        ]
        expect([name, lists.map(({ shown }) => shown.length)]).toEqual([
          name,
          lists.map(({ total }) => total),
        ])
      }
    }
  })
})

describe('parseEnvelope', () => {
  it.each([1, 7, 100_000])('reads the same from chunks of %i bytes', async (size) => {
    const bytes = Buffer.concat([
      envelopeOf({ event_id: 'e' }, [
        of('event', '{"a":1}'),
        of('attachment', Buffer.from('\n\n\0'), { filename: 'f' }),
      ]),
      Buffer.from('\n\n{"type":"line"}\nits payload\n{"type":"empty","length":0}\n\n{"type":"last"}\n'),
    ])
    const whole = await parseEnvelope(chunksOf(bytes, size), () => bytes.length)
    expect(whole).toMatchObject({ header: { event_id: 'e' }, itemCount: 5, bytes: bytes.length })
    expect(whole.items.map(({ type, payload }) => [type, payload.toString()])).toEqual([
      ['event', '{"a":1}'],
      ['attachment', '\n\n\0'],
      ['line', 'its payload'],
      ['empty', ''],
      ['last', ''],
    ])
    for (const { number, payload } of whole.items) {
      const parts: Buffer[] = []
      const found = await findItem(chunksOf(bytes, size), (item) => item.number === number)
      for await (const part of found?.payload ?? []) parts.push(part)
      expect(Buffer.concat(parts)).toEqual(payload)
    }
    expect(await findItem(chunksOf(bytes, size), () => false)).toBeUndefined()
  })

  it('keeps only the requested part of a payload, and counts all of it', async () => {
    const bytes = envelopeOf({}, [of('a', 'x'.repeat(500_000)), of('b', 'y'), of('c', 'z')])
    const kept = await parseEnvelope(chunksOf(bytes, 65_536), ({ type }) => (type === 'b' ? undefined : 10))
    expect(kept).toMatchObject({
      itemCount: 3,
      bytes: bytes.length,
      items: [
        { number: 0, payload: { length: 10 }, bytes: 500_000 },
        { number: 2, payload: { length: 1 }, bytes: 1 },
      ],
    })
  })

  it.each([1.5, -1, 1e300, Number.NaN, '3', null])('stops at the length %j', async (length) => {
    const bytes = Buffer.from(`{}\n{"type":"a","length":${JSON.stringify(length)}}\npayload\n`)
    const { items } = await parseEnvelope(chunksOf(bytes, 3), () => 100)
    expect(items).toMatchObject([{ type: 'a', payload: Buffer.from('payload') }])
  })

  it('stops at a header line that is too long', async () => {
    const bytes = Buffer.from(
      `{}\n{"type":"a"}\nx\n{"type":"b","more":"${'x'.repeat(READ_BYTES.header)}"}\ny\n`,
    )
    const { items } = await parseEnvelope(chunksOf(bytes, 65_536), () => 10)
    expect(items.map(({ type }) => type)).toEqual(['a'])
  })
})

describe('formatJson', () => {
  it('returns the same as JSON.stringify', () => {
    for (const value of [{}, [], { a: [1, 'two', null, true, { b: {} }], c: [] }, 'text', 1, null]) {
      expect(formatJson(value, 1_000)).toBe(JSON.stringify(value, null, 2))
      expect(formatJsonLine(value, 1_000)).toBe(JSON.stringify(value))
    }
  })

  it.each([
    ['deep', JSON.parse(nested(100_000))],
    ['wide', JSON.parse(many(300_000, '{}'))],
    ['long', { a: LONG }],
    ['long names', { [LONG]: 1 }],
  ])('truncates %s values', (_, value) => {
    expect(formatJson(value, 1_000).length).toBeLessThanOrEqual(1_001)
    expect(formatJsonLine(value, 1_000).length).toBeLessThanOrEqual(1_001)
  })
})
