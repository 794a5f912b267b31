/**
 * Detectors of personal data and secrets in a text. Each takes time in proportion to the text: patterns have no part that can be read in
 * two ways, and a search never begins twice within one run of characters.
 */

import { isIPv6 } from 'node:net'
import { CHARACTERS } from '../json-scanner.ts'
import { findCards, findIbans } from './numbers.ts'
import { findPairs } from './pairs.ts'
import { matches, type Span } from './text-spans.ts'

export type Detector = {
  find: (text: string) => Span[]
  /** The text has a character of at least one of these classes. */
  needs: number
  minLength: number
  minDigits: number
}

const { AT, PAIR, DASH, DOT, SLASH, UNDERSCORE, BLANK, DIGIT, OTHER } = CHARACTERS
const ANY = -1

/** Detectors by rule type. The names are Relay's, except for `apikey`, `jwt` and `pairs`. */
export const DETECTORS = {
  anything: detector((text) => [[0, text.length]], ANY, 1),
  apikey: detector(matches(apiKeyPattern()), UNDERSCORE | DASH | DIGIT, 15),
  bearer: detector(matches(/(?<!\w)bearer\s+\S+/gi), BLANK | OTHER, 8),
  creditcard: detector(findCards, DIGIT, 13, 13),
  email: detector(findEmails, AT, 6),
  iban: detector(findIbans, DIGIT, 15, 2),
  imei: detector(matches(/(?<!\w)\d{2}-?\d{6}-?\d{6}-?\d{1,2}(?!\w)/g), DIGIT, 15, 15),
  ip: detector(findAddresses, DOT | PAIR, 2),
  jwt: detector(matches(/(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?/g), DOT, 14),
  mac: detector(matches(/(?<![\w:-])(?:[\da-f]{2}[:-]){5}[\da-f]{2}(?![\w:-])/gi), PAIR | DASH, 17),
  pairs: detector(findPairs, PAIR | AT, 4),
  pemkey: detector(findPemKeys, DASH, 20),
  url_auth: detector(matches(/(?<=\/\/)[^\s/?#@"'<>]+(?=@)/g), AT, 4),
  us_ssn: detector(matches(/(?<!\w)\d{3}-\d{2}-\d{4}(?!\w)/g), DASH, 11, 9),
  userpath: detector(
    matches(/(?<=(?<![a-z\d])(?:users|home|documents and settings)[\\/])[^\\/\r\n\0]+/gi),
    SLASH,
    6,
  ),
  uuid: detector(
    matches(/(?<!\w)[\da-z]{8}-?[\da-z]{4}-?[\da-z]{4}-?[\da-z]{4}-?[\da-z]{12}(?!\w)/gi),
    DIGIT,
    32,
  ),
} satisfies Record<string, Detector>

export type DetectedType = keyof typeof DETECTORS

function detector(find: Detector['find'], needs: number, minLength: number, minDigits = 0): Detector {
  return { find, needs, minLength, minDigits }
}

/** Keys of well-known services, by the prefix that each of them has. */
function apiKeyPattern(): RegExp {
  const shapes = [
    '[sprw]k_(?:live|test)_[A-Za-z0-9]{10,}', // Stripe
    'whsec_[A-Za-z0-9]{16,}',
    '(?:AKIA|ASIA)[A-Z0-9]{16}', // AWS
    'gh[oprsu]_[A-Za-z0-9]{20,}',
    'github_pat_\\w{20,}',
    'glpat-[\\w-]{16,}',
    'xox[abeoprs]-[\\w-]{10,}', // Slack
    'AIza[\\w-]{35}', // Google
    'ya29\\.[\\w-]{10,}',
    'sk-[\\w-]{16,}', // OpenAI, Anthropic
    'SG\\.[\\w-]{16,}(?:\\.[\\w-]+)?', // SendGrid
    'npm_[A-Za-z0-9]{30,}',
    'sntry[su]_[\\w=+/-]{16,}',
    'shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{16,}', // Shopify
    'do[op]_v1_[a-f0-9]{16,}', // DigitalOcean
    'hf_[A-Za-z0-9]{20,}',
  ]
  return new RegExp(`(?<![A-Za-z0-9_-])(?:${shapes.join('|')})`, 'g')
}

const LOCAL_PART = /[a-zA-Z0-9.!#$%&*+=?^_`{|}~\u00c0-\u024f-]/
const DOMAIN = /[a-zA-Z0-9\u00c0-\u024f-]+(?:\.[a-zA-Z0-9\u00c0-\u024f-]+)+/y
const TOP_LEVEL = /^(?:[a-zA-Z\u00c0-\u024f]{2}|xn--)/
const AT_SIGN = /@|%40/g

/** Looks at both sides of each at sign, also of an encoded one. */
function findEmails(text: string): Span[] {
  const found: Span[] = []
  let last = 0 // no character is looked at twice
  AT_SIGN.lastIndex = 0
  for (let sign = AT_SIGN.exec(text); sign; sign = AT_SIGN.exec(text)) {
    const domainStart = AT_SIGN.lastIndex
    let start = sign.index
    while (start > last && LOCAL_PART.test(text.charAt(start - 1))) start--
    start += parameterNameLength(text.slice(start, sign.index))
    last = domainStart
    DOMAIN.lastIndex = domainStart
    if (start === sign.index || !DOMAIN.test(text)) continue
    const length = domainLength(text.slice(domainStart, DOMAIN.lastIndex))
    if (length > 0) found.push([start, domainStart + length])
  }
  return found
}

/** In `to=jane@example.com` the address begins after the name of the parameter. */
function parameterNameLength(local: string): number {
  const equals = local.lastIndexOf('=')
  return equals < local.length - 1 ? equals + 1 : 0
}

/** Returns the length up to the last label that may be a top-level domain; 0 if there is none. */
function domainLength(domain: string): number {
  for (let end = domain.length; ; ) {
    const dot = domain.lastIndexOf('.', end - 1)
    if (dot <= 0) return 0
    if (TOP_LEVEL.test(domain.slice(dot + 1, end))) return end
    end = dot
  }
}

const IPV4 = /(?<![\w.])(?:25[0-5]|2[0-4]\d|[01]?\d\d?)(?:\.(?:25[0-5]|2[0-4]\d|[01]?\d\d?)){3}(?!\w|\.\d)/g
const COLON_RUN = /(?<![\da-f])[\da-f]*:[\da-f:.]*/gi

/** Finds addresses of both versions. */
function findAddresses(text: string): Span[] {
  const found = matches(IPV4)(text)
  if (!text.includes('::') && text.split(':', 8).length < 8) return found
  for (const [start, runEnd] of matches(COLON_RUN)(text)) {
    let end = runEnd
    while (end > start && text[end - 1] === '.') end--
    const isWord = /\w/.test(text.charAt(start - 1)) || /\w/.test(text.charAt(end))
    if (!isWord && end - start <= 45 && isIPv6(text.slice(start, end))) found.push([start, end])
  }
  return found
}

const PEM_BEGIN = /-----BEGIN[A-Z ]{1,40}KEY(?: BLOCK)?-----/g
const PEM_END = /-----END[A-Z ]{1,40}KEY(?: BLOCK)?-----/g

/** Finds the content of keys. One without an end, as in a truncated text, goes to the end of the text. */
function findPemKeys(text: string): Span[] {
  const found: Span[] = []
  PEM_BEGIN.lastIndex = 0
  while (PEM_BEGIN.test(text)) {
    const start = PEM_BEGIN.lastIndex
    PEM_END.lastIndex = start
    const end = PEM_END.exec(text)
    if (start < (end?.index ?? text.length)) found.push([start, end?.index ?? text.length])
    if (!end) break
    PEM_BEGIN.lastIndex = PEM_END.lastIndex
  }
  return found
}
