/** Parser of header lines, and removal of members from a line. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mergeRanges, type Range } from '../../../tunnel/src/envelope/body/ranges.ts'
import {
  cutMembers,
  type HeaderLine,
  parseHeaderLine,
  rawValue,
} from '../../../tunnel/src/envelope/header-parser.ts'

const KEYS = new Set(['forwarded_for', 'remote_addr', 'client'])

describe('A header line', () => {
  it.each([
    ['an empty object', '{}', {}],
    ['white space between its parts', '{ \t"type" :\t"event" , "a":1 }', { type: 'event', a: 1 }],
    ['text in UTF-8', '{"ü":"漢字 🙂"}', { ü: '漢字 🙂' }],
    ['escapes', '{"a\\"b":"c\\\\","d\\u0065":"}{"}', { 'a"b': 'c\\', de: '}{' }],
    ['objects in objects', '{"a":{"b":[{"c":"]}"}],"a":1},"d":[]}', { a: { b: [{ c: ']}' }], a: 1 }, d: [] }],
    [
      'members with the names of Object.prototype',
      '{"constructor":1,"toString":2}',
      { constructor: 1, toString: 2 },
    ],
  ])('is accepted with %s', (_, text, value) => {
    expect(parse(text)?.value).toEqual(value)
  })

  it.each([
    ['empty', ''],
    ['a list', '[]'],
    ['a string', '"a"'],
    ['null', 'null'],
    ['two objects', '{}{}'],
    ['an unterminated object', '{"a":1'],
    ['a space before the object', ' {}'],
    ['a space after the object', '{} '],
    ['a carriage return after the object', '{}\r'],
    ['a byte order mark', '\ufeff{}'],
    ['single quotes', "{'a':1}"],
    ['a trailing comma', '{"a":1,}'],
    ['a key twice', '{"a":1,"a":1}'],
    ['a key twice, once with an escape', '{"type":"event","\\u0074ype":"event"}'],
    ['a key twice, both with escapes', '{"\\u0061":1,"\\u0061":2}'],
    ['the key __proto__ twice', '{"__proto__":1,"__proto__":2}'],
  ])('is rejected when it is or has: %s', (_, text) => {
    expect(parse(text)).toBeUndefined()
  })

  it.each([
    ['a byte that is not UTF-8', [0xff]],
    ['a truncated character', [0xe6, 0xbc]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
  ])('is rejected with %s', (_, bytes) => {
    const line = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')])
    expect(parseHeaderLine(line)).toBeUndefined()
  })

  it('is parsed as JSON.parse does, for any members', () => {
    fc.assert(
      fc.property(members(), (list) => {
        const line = write(list)
        expect(parse(line)?.value).toEqual(JSON.parse(line))
      }),
    )
  })

  it('returns the raw value of a member with an ASCII name unmodified', () => {
    fc.assert(
      fc.property(members(), (list) => {
        const header = parse(write(list))
        for (const { key, value } of list.filter((member) => isAscii(member.key))) {
          const raw = header && rawValue(header, key)
          expect(Buffer.from(raw ?? '', 'latin1').toString()).toBe(value)
        }
      }),
    )
  })

  it('with 32,000 backslashes or 5,000 nested lists is parsed without delay', () => {
    const backslashes = `{"a":"${'\\\\'.repeat(16_000)}${'\\"'.repeat(16_000)}"}`
    expect(Object.keys(parse(backslashes)?.value ?? {})).toEqual(['a'])
    const nested = `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`
    expect(Object.keys(parse(nested)?.value ?? {})).toEqual(['a'])
  })
})

describe('Removing members from a header line', () => {
  it.each([
    ['the only member', '{"client":1}', '{}'],
    ['the first member', '{"client":1,"a":2}', '{"a":2}'],
    ['the last member', '{"a":2,"client":1}', '{"a":2}'],
    ['a member between others', '{"a":2,"client":{"b":[1,"}"]},"c":3}', '{"a":2,"c":3}'],
    ['all members', '{ "client":1 , "remote_addr":2,"forwarded_for":3 }', '{  }'],
    ['the last two members', '{"a":2 , "client":1 , "remote_addr":2 }', '{"a":2 }'],
    ['the first and the last two members', '{"client":0,"a":2,"remote_addr":1,"forwarded_for":2}', '{"a":2}'],
    ['a member written with an escape', '{"forw\\u0061rded_for":"1.2.3.4","a":"\\u0061"}', '{"a":"\\u0061"}'],
    [
      'no member with another name',
      '{"Client":1,"clien":2,"client ":3}',
      '{"Client":1,"clien":2,"client ":3}',
    ],
    ['no member of a nested object', '{"a":{"client":1}}', '{"a":{"client":1}}'],
  ])('removes %s', (_, text, left) => {
    const header = parse(text)
    expect(header && without(text, mergeRanges(cutMembers(header, KEYS)))).toBe(left)
  })

  it('leaves an object without these members, for any order and white space', () => {
    fc.assert(
      fc.property(members(), (list) => {
        const line = write(list)
        const header = parse(line)
        const left = header && without(line, mergeRanges(cutMembers(header, KEYS)))
        const wanted = Object.entries(JSON.parse(line)).filter(([key]) => !KEYS.has(key))
        expect(Object.entries(JSON.parse(left ?? ''))).toEqual(wanted)
      }),
      { numRuns: 500 },
    )
  })

  it('leaves every byte of all other members unmodified and in order', () => {
    fc.assert(
      fc.property(members(), (list) => {
        const line = write(list)
        const header = parse(line)
        const left = (header && without(line, mergeRanges(cutMembers(header, KEYS)))) ?? ''
        const kept = list.filter(({ key }) => !KEYS.has(key)).map(writeMember)
        let at = 0
        for (const text of kept) {
          at = left.indexOf(text, at)
          expect(at).toBeGreaterThan(-1)
          at += text.length
        }
        expect(left.startsWith(line.slice(0, 1 + (list[0]?.blanks[0].length ?? 0)))).toBe(true)
      }),
      { numRuns: 500 },
    )
  })
})

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length
}

function parse(text: string): HeaderLine | undefined {
  return parseHeaderLine(Buffer.from(text))
}

function without(text: string, removedRanges: Range[]): string {
  const bytes = Buffer.from(text)
  const ends = removedRanges.map(([, end]) => end)
  const kept = [0, ...ends].map((from, index) =>
    bytes.subarray(from, removedRanges[index]?.[0] ?? bytes.length),
  )
  return Buffer.concat(kept).toString()
}

/** Member to write: raw key, value as JSON, white space before and after each part. */
type Member = { key: string; rawKey: string; value: string; blanks: [string, string, string, string] }

function members(): fc.Arbitrary<Member[]> {
  const blank = fc.string({ unit: fc.constantFrom(' ', '\t', '\r'), maxLength: 2 })
  const key = fc.oneof(fc.constantFrom(...KEYS), fc.string({ unit: 'grapheme', maxLength: 6 }))
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }).map((given) => JSON.stringify(given)),
    fc.constantFrom(
      '1e1',
      '-0.0',
      '"\\\\"',
      '"\\""',
      '{ "client" : [ "}" , 1 ] }',
      '"\\u0061,"',
      'true',
      'null',
    ),
  )
  const member = fc
    .record({ key, escaped: fc.boolean(), value, blanks: fc.tuple(blank, blank, blank, blank) })
    .map(({ key, escaped, value, blanks }) => ({ key, rawKey: writeKey(key, escaped), value, blanks }))
  return fc.uniqueArray(member, { selector: ({ key }) => key, maxLength: 6 })
}

function writeKey(key: string, escaped: boolean): string {
  if (!escaped) return JSON.stringify(key)
  const units = Array.from({ length: key.length }, (_, at) =>
    key.charCodeAt(at).toString(16).padStart(4, '0'),
  )
  return `"${units.map((unit) => `\\u${unit}`).join('')}"`
}

function writeMember({ rawKey, value, blanks }: Member): string {
  return `${rawKey}${blanks[1]}:${blanks[2]}${value}`
}

function write(list: Member[]): string {
  return `{${list.map((member) => `${member.blanks[0]}${writeMember(member)}${member.blanks[3]}`).join(',')}}`
}
