/** Texts without their escapes, so that detectors see `user[password]=a` in `user%5Bpassword%5D=a`. */

import type { Span } from './detectors/text-spans.ts'

const MAX_ROUNDS = 3
const ESCAPES = /(?:%[\da-f]{2})+|\\(?:u[\da-f]{4}|["\\/bfnrt])/gi
const CONTROLS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** Returns a text as it is, without its escapes, without the escapes that were escaped, and so on, up to three times. */
export function decodeText(text: string): DecodedText[] {
  const rounds: DecodedText[] = []
  let round: DecodedText | undefined = new DecodedText(text, (index) => index)
  while (round && rounds.length <= MAX_ROUNDS) {
    rounds.push(round)
    round = round.decode()
  }
  return rounds
}

/** Text, and the place in the source of each of its UTF-16 units. */
export class DecodedText {
  readonly text: string
  readonly #startOf: (index: number) => number

  constructor(text: string, startOf: (index: number) => number) {
    this.text = text
    this.#startOf = startOf
  }

  sourceOf([start, end]: Span): Span {
    return [this.#startOf(start), this.#startOf(end)]
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

  /** Decodes each escape once: those of JSON, and percent-encoded UTF-8. Returns `undefined` if there is none. */
  decode(): DecodedText | undefined {
    const { text } = this
    if (text.search(ESCAPES) < 0) return undefined
    const pieces: string[] = []
    const starts = new Int32Array(text.length + 1)
    let units = 0
    const add = (piece: string, startOf: (index: number) => number) => {
      pieces.push(piece)
      for (let index = 0; index < piece.length; index++) starts[units++] = startOf(index)
    }
    const addUnchanged = (from: number, to: number) =>
      add(text.slice(from, to), (index) => this.#startOf(from + index))
    let at = 0
    for (const { 0: escapes, index } of text.matchAll(ESCAPES)) {
      addUnchanged(at, index)
      at = index
      for (const [decoded, length] of decodeEscapes(escapes)) {
        if (decoded === undefined) addUnchanged(at, at + length)
        else add(decoded, () => this.#startOf(at))
        at += length
      }
    }
    addUnchanged(at, text.length)
    starts[units] = this.#startOf(text.length)
    return new DecodedText(pieces.join(''), (index) => starts[index] ?? 0)
  }

  #indexOf(source: number, from: number): number {
    let index = from
    while (index < this.text.length && this.#startOf(index) < source) index++
    return index
  }
}

/** Returns the characters of one JSON escape or of some percent-encoded bytes, with the lengths of their escapes; `undefined` for bytes that are not UTF-8. */
function decodeEscapes(escapes: string): [decoded: string | undefined, length: number][] {
  if (escapes.startsWith('\\u'))
    return [[String.fromCharCode(Number.parseInt(escapes.slice(2), 16)), escapes.length]]
  if (escapes.startsWith('\\')) {
    const character = escapes.charAt(1)
    return [[CONTROLS[character] ?? character, escapes.length]]
  }
  const bytes = Buffer.from(escapes.replaceAll('%', ''), 'hex')
  const characters: [string | undefined, number][] = []
  for (let at = 0; at < bytes.length; ) {
    const size = sizeOfCharacter(bytes[at] ?? 0)
    const decoded = bytes.toString('utf8', at, at + size)
    const isValid = at + size <= bytes.length && !decoded.includes('\ufffd')
    characters.push(isValid ? [decoded, size * 3] : [undefined, 3])
    at += isValid ? size : 1
  }
  return characters
}

/** Returns the bytes that a character of UTF-8 takes, by its first one. */
function sizeOfCharacter(first: number): number {
  if (first >= 0xf0) return 4
  if (first >= 0xe0) return 3
  return first >= 0xc0 ? 2 : 1
}
