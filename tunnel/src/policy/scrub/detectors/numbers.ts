/** Detectors of numbers with a checksum: credit cards and IBANs. */

import type { Span } from './text-spans.ts'

/** Prefixes and lengths of American Express, Visa, Mastercard, Discover, Diners Club, JCB, UnionPay and Maestro. */
const CARDS: readonly (readonly [prefix: RegExp, lengths: readonly number[]])[] = [
  [/^3[47]/, [15]],
  [/^4/, [13, 16, 19]],
  [/^5[1-5]|^2(?:2[2-9]|[3-6]|7[01]|720)/, [16]],
  [/^6(?:011|4[4-9]|5)/, [16, 19]],
  [/^3(?:0[0-5]|[689])/, [14, 16]],
  [/^35/, [16]],
  [/^62/, [16, 19]],
  [/^(?:50|5[6-9]|6[37])/, [16, 19]],
]
const MIN_DIGITS = 13
const MAX_DIGITS = 19
const MIN_GROUP = 4 // digits of each group but the last
const MAX_DOTTED_GROUP = 6 // longer ones are those of a decimal number
const CARD_START = /(?<!\w|\d[.,])[2-6]\d{3,}/g
const NEXT_GROUP = /(?: ?[-\u2010-\u2015\u2212] ?|[ +.\t\n\u00a0\u2007\u2009\u202f])(\d{1,19})(?!\d)/y

/** After digits that are part of a word, a decimal number or a UUID. */
const AFTER_OTHER = /^(?:\w|\.\d|-[\da-f]{4}-[\da-f]{12})/i

/** Finds card numbers whose check digit (Luhn) is right, in one group of digits or in several. */
export function findCards(text: string): Span[] {
  const found: Span[] = []
  CARD_START.lastIndex = 0
  for (let match = CARD_START.exec(text); match; match = CARD_START.exec(text)) {
    const end = cardEnd(text, match.index, match[0])
    if (end === undefined) continue
    found.push([match.index, end])
    CARD_START.lastIndex = end
  }
  return found
}

/** Returns the end of the card number that begins with a group of digits. */
function cardEnd(text: string, start: number, first: string): number | undefined {
  let [digits, group, end] = [first, first.length, start + first.length]
  for (;;) {
    if (digits.length > MAX_DIGITS) return undefined
    if (digits.length >= MIN_DIGITS && isCard(digits) && !AFTER_OTHER.test(text.slice(end, end + 18)))
      return end
    NEXT_GROUP.lastIndex = end
    const [all = '', next = ''] = group < MIN_GROUP ? [] : (NEXT_GROUP.exec(text) ?? [])
    if (next === '' || (all.startsWith('.') && next.length > MAX_DOTTED_GROUP)) return undefined
    digits += next
    group = next.length
    end += all.length
  }
}

function isCard(digits: string): boolean {
  if (!passesLuhn(digits)) return false
  return CARDS.some(([prefix, lengths]) => lengths.includes(digits.length) && prefix.test(digits))
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

/** Characters of an IBAN by country (SWIFT's IBAN registry, and the lists of partial IBANs of central banks). */
const IBAN_LENGTHS = new Map(
  [
    'AD24 AE23 AL28 AO25 AT20 AZ28 BA20 BE16 BF28 BG22 BH22 BI27 BJ28 BR29 BY28 CF27 CG27 CH21 CI28 CM27 CR22 CV25 CY28 CZ24 DE22 DJ27 DK18',
    'DO28 DZ26 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GA27 GB22 GE22 GI23 GL18 GQ27 GR27 GT28 GW25 HN28 HR21 HU28 IE22 IL23 IQ23 IR26 IS26 IT27',
    'JO30 KM27 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MA28 MC27 MD24 ME22 MG27 MK19 ML28 MN20 MR27 MT31 MU30 MZ25 NE28 NI28 NL18 NO15',
    'OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SN28 SO23 ST25 SV28 TD27 TG28 TL23 TN24 TR26 UA29 VA22',
    'VG24 XK20 YE30',
  ].flatMap((line) => line.split(' ').map((each) => [each.slice(0, 2), Number(each.slice(2))] as const)),
)
const IBAN_START = /(?<!\w)[a-z]{2}\d{2}/gi
const IBAN_SEPARATORS = ' -.\u00a0\u202f'

/** Finds IBANs of the right length and checksum, also in groups of four. */
export function findIbans(text: string): Span[] {
  const found: Span[] = []
  for (const { 0: prefix, index } of text.matchAll(IBAN_START)) {
    const length = IBAN_LENGTHS.get(prefix.slice(0, 2).toUpperCase())
    const end = length && ibanEnd(text, index, length)
    if (end) found.push([index, end])
  }
  return found
}

/** Returns the end of the IBAN of a length that begins at `start`. */
function ibanEnd(text: string, start: number, length: number): number | undefined {
  let [at, size, first, remainder] = [start, 0, 0, 0] // `first`: the value of the country and check digits, which are moved to the end
  let letters = 0 // the largest value of those in the account number
  for (; size < length; at++) {
    const value = valueOfCharacter(text.charCodeAt(at))
    if (value < 0) {
      const isSeparator = size % 4 === 0 && IBAN_SEPARATORS.includes(text.charAt(at)) && at < text.length
      if (!isSeparator || valueOfCharacter(text.charCodeAt(at - 1)) < 0) return undefined
      continue
    }
    const factor = value > 9 ? 100 : 10
    if (size < 4) first = first * factor + value
    else remainder = (remainder * factor + value) % 97
    if (size > 1 && value > 9) letters = Math.max(letters, value)
    size++
  }
  const isHash = letters > 9 && letters < 16 && /^[a-f]{2}/i.test(text.slice(start, start + 2))
  return !isHash && (remainder * 1_000_000 + first) % 97 === 1 && !/\w/.test(text.charAt(at)) ? at : undefined
}

/** Returns the value of a digit, and of letters from 10 on; -1 for other characters. */
function valueOfCharacter(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const letter = (code | 0x20) - 0x61
  return code >= 0x41 && letter >= 0 && letter < 26 ? letter + 10 : -1
}
