/** Scanner for JSON texts: strict about the grammar, and aware of the position of every value. */

/** Classes of characters, as bits. A detector names those without which it finds nothing. */
export const CHARACTERS = {
  AT: 1,
  PAIR: 2, // colon and equals sign
  DASH: 4,
  DOT: 8,
  SLASH: 16, // both slashes
  UNDERSCORE: 32,
  BLANK: 64,
  DIGIT: 128,
  OTHER: 256, // not ASCII
  MARK: 512, // brackets, quotes, semicolon and bar
  ESCAPE: 1024, // the percent sign and ampersand, and in a `StringToken` a JSON escape
} as const

const CONTROL = 2048 // not allowed in a JSON string

/** The payload is not JSON as Sentry accepts it, or would take too long to scrub. */
export class Unscrubbable extends Error {}

/** Levels of nesting that Relay's JSON parser accepts (`serde_json`). */
export const MAX_DEPTH = 127

/** A string literal: the position of its quotes, and what it contains. */
export type StringToken = { start: number; end: number; mask: number; digits: number }

const QUOTE = 0x22
const BACKSLASH = 0x5c

const CLASSES = classTable()

function classTable(): Uint16Array {
  const classes = new Uint16Array(256)
  const { AT, PAIR, DASH, DOT, SLASH, UNDERSCORE, BLANK, MARK, ESCAPE, DIGIT, OTHER } = CHARACTERS
  classes.fill(CONTROL, 0, 0x20)
  classes.fill(OTHER, 0x80)
  const groups = {
    '@': AT,
    '=:': PAIR,
    '-': DASH,
    '.': DOT,
    '/\\': SLASH,
    _: UNDERSCORE,
    ' ': BLANK,
    '<>["\'`;|': MARK,
    '%&': ESCAPE,
  }
  for (const [characters, bit] of Object.entries(groups))
    for (const character of characters) classes[character.charCodeAt(0)] = bit
  for (const digit of '0123456789') classes[digit.charCodeAt(0)] = DIGIT
  return classes
}

/** Returns the classes and the number of digits of a decoded text. */
export function classify(text: string): Pick<StringToken, 'mask' | 'digits'> {
  let mask = 0
  let digits = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const kind = code < 0x80 ? (CLASSES[code] ?? 0) : CHARACTERS.OTHER
    mask |= kind === CONTROL ? CHARACTERS.BLANK : kind
    if (kind === CHARACTERS.DIGIT) digits++
  }
  return { mask, digits }
}

/** Reads tokens from a text with one character per byte. Throws `Unscrubbable`. */
export class JsonScanner {
  readonly text: string
  at = 0
  /** Reused by every call of `string`. */
  readonly token: StringToken = { start: 0, end: 0, mask: 0, digits: 0 }

  constructor(text: string) {
    this.text = text
  }

  /** Skips blank space and returns the code of the next character; -1 at the end. */
  next(): number {
    const { text } = this
    for (; this.at < text.length; this.at++) {
      const code = text.charCodeAt(this.at)
      if (code > 0x20 || (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09)) return code
    }
    return -1
  }

  /** Skips blank space and one character. */
  expect(code: number): void {
    if (this.next() !== code) throw new Unscrubbable(`unexpected character at ${this.at}`)
    this.at++
  }

  /** Reads the string at the current position into `token`. */
  string(): StringToken {
    const { text, token } = this
    let mask = 0
    let digits = 0
    let at = this.at
    if (text.charCodeAt(at) !== QUOTE) throw new Unscrubbable(`a string is missing at ${at}`)
    for (;;) {
      const code = text.charCodeAt(++at)
      if (code === QUOTE) break
      const kind = CLASSES[code]
      if (kind === undefined || kind === CONTROL) throw new Unscrubbable(`a string does not end at ${at}`)
      mask |= kind
      if (kind === CHARACTERS.DIGIT) digits++
      if (code === BACKSLASH) {
        mask |= CHARACTERS.ESCAPE
        at = this.#escapeEnd(at)
      }
    }
    token.start = this.at
    token.end = this.at = at + 1
    token.mask = mask
    token.digits = digits
    return token
  }

  /** Returns the position of the last character of the escape at `at`. */
  #escapeEnd(at: number): number {
    const { text } = this
    const code = text.charCodeAt(at + 1)
    if (code !== 0x75) {
      if (Number.isNaN(code) || !'"\\/bfnrt'.includes(text.charAt(at + 1)))
        throw new Unscrubbable(`unknown escape at ${at}`)
      return at + 1
    }
    for (let i = 2; i < 6; i++)
      if (!isHexDigit(text.charCodeAt(at + i))) throw new Unscrubbable(`incomplete escape at ${at}`)
    return at + 5
  }

  /** Skips a number, `true`, `false` or `null`, and returns the code of its first character. */
  scalar(): number {
    const { text } = this
    const first = text.charCodeAt(this.at)
    const pattern = first === 0x2d || isDigit(first) ? NUMBER : LITERAL
    pattern.lastIndex = this.at
    if (!pattern.test(text)) throw new Unscrubbable(`unexpected character at ${this.at}`)
    this.at = pattern.lastIndex
    return first
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const LITERAL = /true|false|null/y

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function isHexDigit(code: number): boolean {
  return isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66)
}
