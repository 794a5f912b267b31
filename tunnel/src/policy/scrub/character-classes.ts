/** Classes of characters, as bits. A detector names the classes that it needs to find something. */

export const CHARACTERS = {
  AT: 1,
  PAIR: 2, // colon and equals sign
  DASH: 4,
  DOT: 8,
  SLASH: 16, // both slashes
  UNDERSCORE: 32,
  BLANK: 64, // and other characters that are not printed
  DIGIT: 128,
  OTHER: 256, // not ASCII
  MARK: 512, // brackets, quotes, semicolon and bar
  ESCAPE: 1024, // begins an escape: the percent sign, the ampersand and the backslash
} as const

const CLASSES = classTable()

function classTable(): Uint16Array {
  const { AT, PAIR, DASH, DOT, SLASH, UNDERSCORE, BLANK, MARK, ESCAPE, DIGIT } = CHARACTERS
  const classes = new Uint16Array(0x80)
  classes.fill(BLANK, 0, 0x21)
  const groups = {
    '@': AT,
    '=:': PAIR,
    '-': DASH,
    '.': DOT,
    '/': SLASH,
    '\\': SLASH | ESCAPE,
    _: UNDERSCORE,
    '<>["\'`;|': MARK,
    '%&': ESCAPE,
    '0123456789': DIGIT,
  }
  for (const [characters, bits] of Object.entries(groups))
    for (const character of characters) classes[character.charCodeAt(0)] = bits
  return classes
}

/** Classes of the characters of a text, and the number of its digits. */
export type TextClasses = { mask: number; digits: number }

export function classify(text: string): TextClasses {
  let mask = 0
  let digits = 0
  for (let at = 0; at < text.length; at++) {
    const bits = CLASSES[text.charCodeAt(at)] ?? CHARACTERS.OTHER
    mask |= bits
    if (bits === CHARACTERS.DIGIT) digits++
  }
  return { mask, digits }
}
