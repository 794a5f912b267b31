/** Texts without their escapes, so that detectors see `user[password]=a` in `user%5Bpassword%5D=a`. */

import type { Span } from './detectors/text-spans.ts'

const MAX_ROUNDS = 3
const ESCAPE = /%[\da-f]{2}|\\(?:u[\da-f]{4}|x[\da-f]{2}|["\\/bfnrt])|&(?:#|quot;|apos;|amp;|lt;|gt;)/i
const ENTITY = /&(?:(quot|apos|amp|lt|gt)|#(?:x([\da-f]{1,4})|(\d{1,4})));/iy
const NAMED_ENTITIES: Readonly<Record<string, string>> = { quot: '"', apos: "'", amp: '&', lt: '<', gt: '>' }
const AMPERSAND = 0x26
const PERCENT = 0x25
const BACKSLASH = 0x5c
/** Characters by the letter after a backslash. */
const SHORT_ESCAPES = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(
    ([letter, character]) => [letter.charCodeAt(0), character.charCodeAt(0)] as const,
  ),
)

const HEX_DIGITS = new Int8Array(0x80).fill(-1)
for (const [value, digit] of Array.from('0123456789abcdef').entries())
  for (const each of [digit, digit.toUpperCase()]) HEX_DIGITS[each.charCodeAt(0)] = value

/** Returns a text as it is, without its escapes, without the escapes that were escaped, and so on, up to three times. */
export function decodeText(text: string): DecodedText[] {
  const rounds = [new DecodedText(text)]
  for (let round = rounds[0]?.decode(); round && rounds.length <= MAX_ROUNDS; round = round.decode())
    rounds.push(round)
  return rounds
}

/** Text, and the place in the source of each of its UTF-16 units. */
export class DecodedText {
  readonly text: string
  /** Has the length of the source at its end. `undefined` for the source itself. */
  readonly #starts: Int32Array | undefined

  constructor(text: string, starts?: Int32Array) {
    this.text = text
    this.#starts = starts
  }

  sourceOf(span: Span): Span {
    return this.#starts ? [this.#starts[span[0]] ?? 0, this.#starts[span[1]] ?? 0] : span
  }

  /** Returns the text with `filler` in place of each unit within one of the sorted parts of the source. */
  cover(parts: readonly { start: number; end: number }[], filler: string): string {
    const pieces: string[] = []
    let at = 0
    for (const { start, end } of parts) {
      const from = this.#indexOf(start, at)
      const to = this.#indexOf(end, from)
      pieces.push(this.text.slice(at, from), filler.repeat(to - from))
      at = to
    }
    return pieces.join('') + this.text.slice(at)
  }

  /** Decodes each escape once: those of JSON and HTML, and percent-encoded UTF-8. Returns `undefined` if there is none. */
  decode(): DecodedText | undefined {
    const { text } = this
    if (!ESCAPE.test(text)) return undefined
    const known = this.#starts
    const units = new Uint16Array(text.length)
    const starts = new Int32Array(text.length + 1)
    const read: Escape = { length: 1, units: [] }
    let size = 0
    for (let at = 0; at < text.length; at += read.length) {
      const code = text.charCodeAt(at)
      const start = known ? (known[at] ?? 0) : at
      if (
        (code === PERCENT && readPercent(text, at, read)) ||
        (code === BACKSLASH && readBackslash(text, at, read)) ||
        (code === AMPERSAND && readEntity(text, at, read))
      )
        for (const unit of read.units) {
          starts[size] = start
          units[size++] = unit
        }
      else {
        read.length = 1
        starts[size] = start
        units[size++] = code
      }
    }
    if (size === text.length) return undefined
    starts[size] = known ? (known[text.length] ?? 0) : text.length
    const decoded = Buffer.from(units.buffer, 0, size * 2).toString('utf16le')
    return new DecodedText(decoded, starts.subarray(0, size + 1))
  }

  #indexOf(source: number, from: number): number {
    if (!this.#starts) return source
    let index = from
    while (index < this.text.length && (this.#starts[index] ?? 0) < source) index++
    return index
  }
}

/** Escape that was read: its length in characters, and its UTF-16 units. */
type Escape = { length: number; units: readonly number[] }

/** Reads a JSON escape, or `\xNN`, which nginx writes in place of quotes. */
function readBackslash(text: string, at: number, read: Escape): boolean {
  const letter = text.charCodeAt(at + 1)
  const digits = letter === 0x75 ? 4 : letter === 0x78 ? 2 : 0
  const unit = digits > 0 ? readHex(text, at + 2, digits) : SHORT_ESCAPES.get(letter)
  if (unit === undefined || unit < 0) return false
  read.length = 2 + digits
  read.units = [unit]
  return true
}

/** Reads an HTML entity of one UTF-16 unit. */
function readEntity(text: string, at: number, read: Escape): boolean {
  ENTITY.lastIndex = at
  const [all, name, hex, decimal] = ENTITY.exec(text) ?? []
  if (all === undefined) return false
  const named = NAMED_ENTITIES[name?.toLowerCase() ?? '']
  const unit = named?.charCodeAt(0) ?? (hex ? Number.parseInt(hex, 16) : Number(decimal))
  read.length = all.length
  read.units = [unit]
  return true
}

/** Reads one character of percent-encoded UTF-8. */
function readPercent(text: string, at: number, read: Escape): boolean {
  const first = readHex(text, at + 1, 2)
  const size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
  let point = size === 1 ? first : first & (0x7f >> size)
  for (let index = 1; index < size; index++) {
    const byte = text.charCodeAt(at + index * 3) === PERCENT ? readHex(text, at + index * 3 + 1, 2) : -1
    if ((byte & 0xc0) !== 0x80) return false
    point = (point << 6) | (byte & 0x3f)
  }
  if (point < 0 || point > 0x10ffff) return false
  read.length = size * 3
  read.units =
    point < 0x10000 ? [point] : [0xd800 + ((point - 0x10000) >> 10), 0xdc00 + ((point - 0x10000) & 0x3ff)]
  return true
}

/** Returns a number of some hexadecimal digits; -1 for anything else. */
function readHex(text: string, at: number, digits: number): number {
  let value = 0
  for (let index = at; index < at + digits; index++) {
    const digit = HEX_DIGITS[text.charCodeAt(index)] ?? -1
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}
