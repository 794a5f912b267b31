/** Parser for one header line of an envelope: a JSON object, with the position of each member. */

import { isAscii } from 'node:buffer'
import type { Range } from './body/ranges.ts'

export type HeaderLine = {
  value: Readonly<Record<string, unknown>>
  /** Four byte offsets per member, in order: key start, key end, value start, value end. Quotes are included. */
  marks: readonly number[]
  /** The line, one character per byte. */
  text: string
  /** Levels of objects and arrays, including the outermost object. */
  nesting: number
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses a header line: one JSON object from the first byte to the last, in UTF-8, each key once. Returns `undefined` for anything
 * else, as Relay does (`relay-server/src/envelope/mod.rs`: white space after the object is `MissingNewline`, a known key twice is
 * serde's "duplicate field"; here this applies to every key).
 */
export function parseHeaderLine(line: Buffer): HeaderLine | undefined {
  const text = line.toString('latin1')
  if (text[0] !== '{' || text[text.length - 1] !== '}') return undefined
  const value = parseObject(isAscii(line) ? text : line)
  if (!value) return undefined
  const { marks, nesting } = markMembers(text)
  return marks.length === Object.keys(value).length * 4 ? { value, marks, text, nesting } : undefined
}

function parseObject(line: Buffer | string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(typeof line === 'string' ? line : utf8.decode(line))
  } catch {
    return undefined
  }
}

/** Returns the range of a member's value in the line. */
export function valueRange({ marks, text }: HeaderLine, key: string): Range | undefined {
  for (let i = 0; i < marks.length; i += 4)
    if (keyAt(text, marks, i) === key) return [marks[i + 2] as number, marks[i + 3] as number]
  return undefined
}

/** Returns the value of a member as written: parsing does not distinguish `1e1` and `10`. */
export function rawValue(line: HeaderLine, key: string): string | undefined {
  const range = valueRange(line, key)
  return range && line.text.slice(range[0], range[1])
}

/**
 * Returns the ranges of the line without which the members in `keys` are gone and every other byte stays. They may overlap. Keys are
 * compared as parsed: `"forw\u0061rded_for"` is `forwarded_for`.
 */
export function cutMembers({ value, marks, text }: HeaderLine, keys: ReadonlySet<string>): Range[] {
  if (!Object.keys(value).some((key) => keys.has(key))) return []
  const members: Range[] = []
  for (let i = 0; i < marks.length; i += 4) members.push([marks[i] as number, marks[i + 3] as number])
  return cutParts(members, (index) => keys.has(keyAt(text, marks, index * 4)))
}

/** Returns the ranges without which chosen members of an object, or elements of an array, are gone with their commas. They may overlap. */
export function cutParts(parts: readonly Range[], isCut: (index: number) => boolean): Range[] {
  const cuts: Range[] = []
  let lastKeptEnd = -1
  for (const [index, [start, end]] of parts.entries()) {
    const next = parts[index + 1]
    if (!isCut(index)) lastKeptEnd = end
    else if (next) cuts.push([start, next[0]])
    else cuts.push([lastKeptEnd < 0 ? start : lastKeptEnd, end])
  }
  return cuts
}

/** Returns the ranges of the elements of the array that begins at `start` of a valid JSON text. */
export function markElements(text: string, start: number): Range[] {
  const elements: Range[] = []
  let at = skipBlanks(text, start + 1)
  while (text.charCodeAt(at) !== CLOSE_BRACKET) {
    const { end } = skipValue(text, at)
    elements.push([at, end])
    at = skipBlanks(text, end)
    if (text.charCodeAt(at) === COMMA) at = skipBlanks(text, at + 1)
  }
  return elements
}

function keyAt(text: string, marks: readonly number[], i: number): string {
  const raw = text.slice((marks[i] as number) + 1, (marks[i + 1] as number) - 1)
  return raw.includes('\\') ? JSON.parse(`"${raw}"`) : raw
}

/** Finds the members of a valid JSON object. */
function markMembers(text: string): Pick<HeaderLine, 'marks' | 'nesting'> {
  const marks: number[] = []
  let nesting = 1
  let at = skipBlanks(text, 1)
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = skipString(text, at)
    const valueStart = skipBlanks(text, skipBlanks(text, keyEnd) + 1)
    const { end, levels } = skipValue(text, valueStart)
    nesting = Math.max(nesting, 1 + levels)
    marks.push(at, keyEnd, valueStart, end)
    at = skipBlanks(text, end)
    if (text.charCodeAt(at) === COMMA) at = skipBlanks(text, at + 1)
  }
  return { marks, nesting }
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

function skipBlanks(text: string, at: number): number {
  while (text.charCodeAt(at) <= 0x20) at++
  return at
}

function skipString(text: string, at: number): number {
  let end = text.indexOf('"', at + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return Math.max(end, at) + 1 // advances even where no quote follows
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++
  return backslashes % 2 === 1
}

function isScalarPart(code: number): boolean {
  return code > 0x20 && code !== COMMA && code !== CLOSE_BRACE && code !== CLOSE_BRACKET
}

function skipValue(text: string, at: number): { end: number; levels: number } {
  let depth = 0
  let levels = 0
  do {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = skipString(text, at)
      continue
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) levels = Math.max(levels, ++depth)
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--
    at++
  } while (at < text.length && (depth > 0 || (levels === 0 && isScalarPart(text.charCodeAt(at)))))
  return { end: at, levels }
}

/** Returns an upper bound of the values in a JSON text: each except the first follows a comma or begins an object or array. */
export function maxValues(json: Uint8Array): number {
  let values = 1
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (byte === COMMA || byte === OPEN_BRACKET || byte === OPEN_BRACE) values++
  }
  return values
}
