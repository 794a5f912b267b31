/**
 * Detectors of personal data and secrets in a text. Each takes time in proportion to the text: patterns have no part that can be read in
 * two ways, and a search never begins twice within one run of characters.
 */

import { isIPv6 } from 'node:net'
import { CHARACTERS } from '../character-classes.ts'
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

const { AT, PAIR, DASH, DOT, SLASH, UNDERSCORE, BLANK, MARK, DIGIT, OTHER } = CHARACTERS
const ANY = -1

const SOCIAL_SECURITY_NUMBER =
  /(?<!\w|\d-)\d{3}([-\u2010-\u2015])\d{2}\1\d{4}(?!\w|-\d)|(?<=\bssn["']?\s?[:=]\s?["']?)\d{3}\s?\d{2}\s?\d{4}(?!\d)/gi

/** Detectors by rule type. The names are Relay's, except for `apikey`, `jwt` and `pairs`. */
export const DETECTORS = {
  anything: detector((text) => [[0, text.length]], ANY, 1),
  apikey: detector(matches(apiKeyPattern()), UNDERSCORE | DASH | DIGIT, 15),
  bearer: detector(findCredentials, BLANK | OTHER | SLASH, 8),
  creditcard: detector(findCards, DIGIT, 13, 13),
  email: detector(findEmails, AT, 6),
  iban: detector(findIbans, DIGIT, 15, 2),
  imei: detector(matches(/(?<!\w)\d{2}-?\d{6}-?\d{6}-?\d{1,2}(?!\w)/g), DIGIT, 15, 15),
  ip: detector(findAddresses, DOT | PAIR, 2),
  jwt: detector(matches(/(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:(?:\.[\w-]*){3}|\.[\w-]*)?/g), DOT, 14),
  mac: detector(matches(/(?<![\w:-])(?:[\da-f]{2}[:-]){5}[\da-f]{2}(?![\w:-])/gi), PAIR | DASH, 17),
  pairs: detector(findPairs, PAIR | DASH | MARK | OTHER, 5),
  pemkey: detector(findPemKeys, DASH, 20),
  url_auth: detector(matches(/(?<=\/\/)(?!(?:git|hg)@)[^\s/?#@"'<>]+(?=@)/g), AT, 4),
  us_ssn: detector(matches(SOCIAL_SECURITY_NUMBER), DASH | OTHER | PAIR, 9, 9),
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
    'hv[sb]\\.[\\w-]{20,}', // Vault
    'GOCSPX-[\\w-]{20,}',
    'pypi-[\\w-]{16,}',
    'dckr_[a-z]{2,4}_[\\w-]{16,}', // Docker
    'gl(?:rt|dt|ft|soat|ptt|cbt)-[\\w-]{16,}', // GitLab
    'glsa_[A-Za-z0-9_]{20,}', // Grafana
    'ATATT3[\\w=-]{20,}', // Atlassian
    'PMAK-[A-Za-z0-9-]{20,}', // Postman
    'lin_api_[A-Za-z0-9]{20,}',
    'sq0[a-z]{3}-[\\w-]{20,}', // Square
    'xapp-[\\w-]{10,}', // Slack
    'dapi[a-f0-9]{32}', // Databricks
    'SK[a-f0-9]{32}', // Twilio
    'key-[a-f0-9]{32}', // Mailgun
    'AGE-SECRET-KEY-1[A-Z0-9]{50,}',
    '(?<=/services/)T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/\\w{16,}', // Slack's web hooks
    '(?<=/webhooks/\\d{15,20}/)[\\w-]{30,}', // Discord
  ]
  return new RegExp(`(?<![A-Za-z0-9_-])(?:${shapes.join('|')})`, 'g')
}

/** A word of a sentence after "bearer" is no token. */
const BEARER =
  /(?<!\w)bearer\s+(?!(?:tokens?|auth|authentication|authorization|scheme|realm|of|is|was|not|and|or|in|to|the|a|for|undefined|null|none|missing)(?:[\s,;:!?]|\.?(?:\s|$)))\S+/gi
const BASIC = /(?<!\w)basic\s+([a-z\d+/]{6,}={0,2})(?![\w+/=])/gi

/** Token of a bot in a URL of Telegram. */
const BOT = /(?<=\/bot)\d{6,12}:[\w-]{30,}/g
/** `curl -u name:password`. */
const USER_OPTION = /(?<=(?<!\S)(?:-u|--user|--proxy-user)[\s=]["']?(?!\d+:)[^\s:"'/]{1,64}:)[^\s"']+/g
/** Sentences that tell a password or a code. */
const SENTENCE =
  /(?<=\b(?:pass(?:word|code|phrase)|otp|pin|(?:verification|security|login|access|confirmation|one[- ]time) (?:code|pin))\s(?:is|was):?\s["'`]?)(?!sha\d|md5|base64|b?s?crypt|argon2|utf|aes)(?:\d{4,10}|(?=\w{0,64}\d)(?=\w{0,64}[a-z])[\w!#$%&*@]{6,})(?![\w-])/gi

/**
 * Finds the credentials of HTTP's schemes, with their scheme: any after `Bearer`, and Base64 of `name:password` after `Basic`. Finds those of
 * command lines and sentences, too.
 */
function findCredentials(text: string): Span[] {
  const found = [BEARER, BOT, USER_OPTION, SENTENCE].flatMap((pattern) => matches(pattern)(text))
  for (const { 0: all, 1: encoded = '', index } of text.matchAll(BASIC))
    if (/^[^\p{Cc}]*:[^\p{Cc}]*$/u.test(Buffer.from(encoded, 'base64').toString()))
      found.push([index, index + all.length])
  return found
}

const LOCAL_PART = /[.!#$%&'*+/=?^_`{|}~\p{L}\p{M}\p{N}-]/u
const MAX_LOCAL_PART = 64
const DOMAIN = /[\p{L}\p{M}\p{N}-]+(?:\.[\p{L}\p{M}\p{N}-]+)+|(?:\[\d{1,3}(?:\.\d{1,3}){3}\])/uy
/** Scripts without spaces between words: such a word may stand right before or after an address in Latin script. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
const QUOTED_LOCAL_PART = /"[^"\r\n]{1,64}"$/
/** Name in the addresses of repositories, as in `git@github.com:organization/project`. */
const REPOSITORY_USER = /^(?:git|hg)$/
/** Versions as in `react@18.2.0`, and scales of images as in `logo@2x.png`. */
const VERSION = /^(?:v?\d+\.\d|\d+(?:\.\d+)?x\.)/i
const TOP_LEVEL = /^(?:\p{L}[\p{L}\p{M}]|xn--)/iu
/** Top-level domain in Latin script. */
const LATIN = /^[a-z\u00c0-\u024f][\w\u00c0-\u024f-]*/i
const HASH = /^[\da-f]{6,}$/i
const FILE_EXTENSION =
  /^(?:[cm]?[jt]sx?|json|map|s?css|less|html?|png|jpe?g|gif|webp|svg|avif|ico|bmp|woff2?|ttf|otf|mp[34]|webm|wasm|t?gz|tar|whl|jar|aar|lock|ya?ml|toml|xml|txt|pdf|csv|log|exe|dll|vue|svelte|php|lua|java|class)$/i
/** Top-level domains that may stand before the extension of a file. */
const COMMON_TOP_LEVEL = /^(?:[a-z]{2}|com|net|org|edu|gov|info|biz|example)$/i

/** Looks at both sides of each at sign. */
function findEmails(text: string): Span[] {
  const found: Span[] = []
  let last = 0 // no character is looked at twice
  for (let sign = text.indexOf('@'); sign >= 0; sign = text.indexOf('@', sign + 1)) {
    const from = last
    last = sign + 1
    DOMAIN.lastIndex = last
    const length = DOMAIN.test(text) ? domainLength(text.slice(last, DOMAIN.lastIndex)) : 0
    const start = length > 0 ? localPartStart(text, from, sign) : sign
    if (start < sign && !REPOSITORY_USER.test(text.slice(start, sign))) found.push([start, last + length])
  }
  return found
}

/** Returns where the local part of an address begins, after the name of a parameter, a path or a quote before it. */
function localPartStart(text: string, from: number, sign: number): number {
  const quoted = QUOTED_LOCAL_PART.exec(text.slice(Math.max(from, sign - MAX_LOCAL_PART - 2), sign))
  if (quoted) return sign - quoted[0].length
  const isSpaced = !UNSPACED.test(text.charAt(sign - 1))
  const isPart = (character: string) => LOCAL_PART.test(character) && !(isSpaced && UNSPACED.test(character))
  let start = sign
  while (start > from && isPart(text.charAt(start - 1))) start--
  let local = text.slice(start, sign)
  const equals = local.lastIndexOf('=')
  if (equals < local.length - 1) local = local.slice(equals + 1)
  const isPath = /^[\\:]/.test(text.charAt(sign - local.length - 1)) || local.length > MAX_LOCAL_PART
  if (isPath || /^\/|\/\//.test(local)) local = local.slice(local.lastIndexOf('/') + 1)
  const quote = /^(?:[bfru]?'|.*[^\p{L}\p{N}]')/isu.exec(local) // not that of o'neill
  return sign - local.length + (quote?.[0].length ?? 0)
}

/** Returns the length up to the last label that may be a top-level domain; 0 if there is none. */
function domainLength(domain: string): number {
  if (VERSION.test(domain)) return 0
  if (domain.startsWith('[')) return domain.length
  let isFile = false
  for (let end = domain.length; ; ) {
    const dot = domain.lastIndexOf('.', end - 1)
    if (dot <= 0) return 0
    const label = domain.slice(dot + 1, end)
    if (FILE_EXTENSION.test(label)) isFile = true
    else if (isFile ? COMMON_TOP_LEVEL.test(label) : TOP_LEVEL.test(label) && !HASH.test(label))
      return dot + 1 + (LATIN.exec(label)?.[0] ?? label).length
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
