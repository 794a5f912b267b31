/** Detectors of numbers with a checksum: credit cards and IBANs. */

import type { Span } from './text-spans.ts'

const MAX_CARD_DIGITS = 19
/** Prefixes and lengths of American Express, Visa, Mastercard, Discover, Diners Club, JCB, UnionPay and Maestro. */
const CARDS: readonly (readonly [prefix: RegExp, lengths: readonly number[]])[] = [
  [/^3[47]/, [15]],
  [/^4/, [16, 13, 19]],
  [/^5[1-5]|^2(?:2[2-9]|[3-6]|7[01]|720)/, [16]],
  [/^6(?:011|4[4-9]|5)/, [16, 19]],
  [/^3(?:0[0-5]|[689])/, [14, 16]],
  [/^35/, [16]],
  [/^62/, [16, 19]],
  [/^(?:50|5[6-9]|6[37])/, [16, 19]],
]
const SEPARATORS = ' -+.\t\n\u00a0\u2009\u202f'

/** Finds card numbers, with or without one separator between digits, whose check digit (Luhn) is right. */
export function findCards(text: string): Span[] {
  const found: Span[] = []
  const start = /(?<![\w])[2-6]/g
  for (let match = start.exec(text); match; match = start.exec(text)) {
    const end = cardEnd(text, match.index)
    if (end === undefined) continue
    found.push([match.index, end])
    start.lastIndex = end
  }
  return found
}

/** Returns the end of the card number that begins at `start`. */
function cardEnd(text: string, start: number): number | undefined {
  const ends: number[] = []
  let digits = ''
  for (let at = start; at < text.length && digits.length < MAX_CARD_DIGITS; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x30 || code > 0x39) {
      const isSeparator = SEPARATORS.includes(text.charAt(at)) && ends.at(-1) === at
      if (isSeparator) continue
      break
    }
    digits += text[at]
    ends.push(at + 1)
  }
  for (const [prefix, lengths] of CARDS)
    if (prefix.test(digits))
      for (const length of lengths) {
        const end = ends[length - 1]
        if (end !== undefined && !/\w/.test(text.charAt(end)) && passesLuhn(digits.slice(0, length)))
          return end
      }
  return undefined
}

function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 0x30
    const doubled = i % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

const COUNTRIES = new Set(
  [
    'AD AE AL AO AT AZ BA BE BF BG BH BI BJ BR BY CF CG CH CI CM CR CV CY CZ DE DJ DK DO DZ EE EG ES FI FO FR GA GB GE GI GL GQ GR GT GW HN HR',
    'HU IE IL IQ IR IS IT JO KM KW KZ LB LC LI LT LU LV LY MA MC MD ME MG MK ML MR MT MU MZ NE NI NL NO PK PL PS PT QA RO RS RU SA SC SE SI SK',
    'SM SN ST SV TD TG TL TN TR UA VA VG XK',
  ].flatMap((line) => line.split(' ')),
)
const COMPACT_IBAN = /(?<!\w)[A-Z]{2}\d{2}[A-Za-z0-9]{11,30}(?!\w)/g
const GROUPED_IBAN = /(?<!\w)[A-Z]{2}\d{2}(?:[ \u00a0-][A-Z0-9]{4}){2,7}(?:[ \u00a0-][A-Z0-9]{1,3})?(?!\w)/g

/** Finds IBANs by their shape. One that is written in groups must also have the right checksum. */
export function findIbans(text: string): Span[] {
  const found: Span[] = []
  for (const pattern of [COMPACT_IBAN, GROUPED_IBAN])
    for (const match of text.matchAll(pattern)) {
      const [iban] = match
      if (!COUNTRIES.has(iban.slice(0, 2))) continue
      const end = pattern === COMPACT_IBAN ? iban.length : groupedLength(iban)
      if (end > 0) found.push([match.index, match.index + end])
    }
  return found
}

/** Returns the length of the longest IBAN at the start of groups; 0 for none. What follows may be another word in capitals. */
function groupedLength(groups: string): number {
  for (let end = groups.length; end >= 15; end = lastSeparator(groups, end))
    if (passesMod97(groups.slice(0, end).replaceAll(/[ \u00a0-]/g, ''))) return end
  return 0
}

function lastSeparator(groups: string, end: number): number {
  let at = end - 1
  while (at > 0 && /\w/.test(groups.charAt(at))) at--
  return at
}

function passesMod97(iban: string): boolean {
  let remainder = 0
  for (const character of iban.slice(4) + iban.slice(0, 4))
    for (const digit of String(Number.parseInt(character, 36)))
      remainder = (remainder * 10 + Number(digit)) % 97
  return remainder === 1
}
