/**
 * Detector of secrets that a text names: `name=value`, `"name":"value"`, `Name: value`, `name => value`, `<name>value</name>`,
 * `["name", "value"]`, `name;value`, `--name value`, parts of multipart bodies, and values in SQL and GraphQL.
 */

import { isCookieName, isSecretName } from './secret-names.ts'
import { findSqlValues, type ValueReader } from './sql-values.ts'
import { matches, type Span } from './text-spans.ts'

/** Has a match in every name of a secret but `ssn`, which has a detector. */
const ROOT =
  /pass|pw|secret|token|auth|credential|cookie|[einst][-_. ]?key|[cx]srf|sess|otp|pin|cv[cvn]|jwt|sid|sig|factor|security|saml|verifier|[aens][-_. ]?code|kennwort|contrase[nñ]a|senha|wachtwoord|has[lł]o|l[oö]senord|salasana|пароль|密[码碼]|パスワード|暗証番号|비밀번호/gi
const MAX_NAME = 64
const MAX_KNOWN = 500
const MAX_FOUND = 1000 // with more, all after the first is redacted
const MAX_SPACE = 8
const MAX_TAG = 500
const AFTER_NAME = new Set('=:-["\'`]+?!(<;|＝：→')
const BEFORE_ELEMENT = new Set('<:')
const BEFORE_NAME = new Set('<>: \n')
const SPACE = new Set(' \t\r\n\u00a0')
const QUOTES = new Set('"\'`')
const NAME_CHARACTER = /[\w.-]/

/** Matches the end of quotes or brackets, and an index as in `password[]`, between a name and its sign. */
const NAME_END = /["'`]?\]?(?:\[[^[\]\s]{0,40}\]){0,3}/y
const SIGN =
  /(?:\s{0,8}(?:=>|(?<=\s)->(?=\s)|[:+?!]?={1,3}|:(?!:)|[＝：→])\s{0,8}(?:(?:[|>][-+]?|-|!!\w{1,10}|string\(\d{1,7}\))\s{1,8})?|\((?=["'`])|;s:\d{1,7}:(?="))/y
/** Line, column or port after the name of a file or host, and the pseudo-class of an element. */
const PLACE =
  /:(?:\d{1,7}|hover|focus|active|visited|checked|(?:dis|en)abled|before|after|placeholder|(?:first|last|only|nth)-[a-z-]+|(?:not|is|where|has)(?=\())(?![\w.])/y
/** Version of a package, as in `com.example:auth:1.0`, which may have another part of its name before it. */
const PACKAGE_VERSION = /:(?:[\w.-]{1,60}:)?\d{1,5}(?:\.\d{1,5}){1,4}(?!\w)/y
const COMMA = /\s?,\s{0,3}/y
/** Between the columns of a row without a header. */
const COLUMN = /[;|](?!\s)/y
/** Value that is no word and no name of a variable: it has letters and digits. */
const CODE = /(?=[^\s;|,"'`]{0,64}\d)(?=[^\s;|,"'`]{0,64}[a-z])[^\s;|,"'`<>&.()=]{5,}(?![\w.(=])/iy
/** Between the name of an entry and its value, as in `<key>password</key><string>x</string>`. */
const NEXT_ELEMENT = /<\/[^<>]{1,40}>\s{0,40}(?:<[a-z][^<>]{0,200}>\s{0,8}){1,3}/iy
const TAG_END = /[^<>]{0,400}>\s{0,8}(?:<!\[CDATA\[)?/y
const FLAG_END = /\s{1,3}(?![\s-])/y
/** Between the name of a part of a multipart body and its value. */
const PART_HEADERS = /[^\r\n]{0,100}(?:\r?\n[^\r\n]{1,100}){0,3}\r?\n\r?\n/y
/** Value of an element that is a field for a password, in the rest of its tag. */
const FIELD_VALUE = /[^<>]{0,400}?\svalue\s?=\s?(?=["'])/iy
const VALUE_BEFORE = /\svalue\s?=\s?(?:"([^"<>]{1,400})"|'([^'<>]{1,400})')[^<>]{0,400}$/i
/** Between `name="password"` and its value, in HTML and JSON. */
const VALUE_ATTRIBUTE = /["'`][\s,]{1,3}["'`]?value["'`]?\s?[=:]\s?/iy

const WORD =
  /(?:(?:bearer|basic|digest|token)\s{1,3})?((?:[^\s&;,"'`\\<>)}]|,(?![\s"'`])(?![\w.-]{1,40}["'`]?\s?[=:])|\\(?!["'`\\/bfnrtu]))+)/iy
const LINE =
  /(?!(?:true|false|null|undefined|none|required|missing)\b(?!=))(?:[^\r\n"'`\\]|(?<==)"[^\r\n"\\]*")+/y
const COOKIES = /[^\s&;,"'`\\]+(?:;\s?[^\s;=&"'`\\]+=[^\s;&"'`\\]*)*/y
const ELEMENT = /[^<]+(?=<[/!?])|(?<!\s)[^<]+$/y // not `<password> [options]`
const PART = /[^\r\n]+(?:\r?\n(?!--)[^\r\n]*)*/y

/** Finds the values of secrets. */
export function findPairs(text: string): Span[] {
  const found: Span[] = []
  const known = new Map<string, NameKind>()
  ROOT.lastIndex = 0
  for (let root = ROOT.exec(text); root; root = ROOT.exec(text)) {
    const [start, end] = nameAround(text, root.index, ROOT.lastIndex)
    ROOT.lastIndex = Math.max(ROOT.lastIndex, end)
    if (!mayHaveValue(text, start, end)) continue
    const name = text.slice(start, end)
    const kind = known.get(name) ?? kindOf(name)
    if (known.size < MAX_KNOWN) known.set(name, kind)
    if (kind === 'other') continue
    for (const [from, to] of valuesOf(text, start, end, kind)) {
      if (!isPlaceholder(text.slice(from, to))) found.push([from, to])
      if (found.length > MAX_FOUND) return [[found[0]?.[0] ?? 0, text.length]]
      ROOT.lastIndex = Math.max(ROOT.lastIndex, to)
    }
  }
  const others = [...findSqlValues(text, readQuoted), ...findVariables(text), ...findCodes(text)]
  return found.concat(others.filter(([from, to]) => !isPlaceholder(text.slice(from, to))))
}

const readQuoted: ValueReader = (text, at) => readValues(text, at, WORD)

const VARIABLE_USE = /(?<![\w$])([\w.-]{1,64})\s{0,3}[:=]\s{0,3}[$:@](\w{1,64})/g
const MAX_VARIABLES = 20

/** Returns the names of variables that stand for secrets, as `p` in `login(password: $p)` of GraphQL and `password = :p` of SQL. */
export function secretVariables(text: string): ReadonlySet<string> {
  const found = new Set<string>()
  for (const [, name = '', variable = ''] of text.matchAll(VARIABLE_USE))
    if (found.size < MAX_VARIABLES && isSecretName(name)) found.add(variable)
  return found
}

/** Finds the values of GraphQL's variables in JSON, beside a query that uses them for secrets. */
function findVariables(text: string): Span[] {
  if (!text.includes('$') || !/["']variables["']/.test(text)) return []
  const names = secretVariables(text)
  if (names.size === 0) return []
  const member = new RegExp(`["'](?:${[...names].join('|')})["']\\s{0,3}:\\s{0,3}`, 'g')
  const found: Span[] = []
  for (const [, end] of matches(member)(text))
    if (end >= (found.at(-1)?.[1] ?? 0)) found.push(...readValues(text, end, WORD))
  return found
}

/** Codes in the callback of OAuth, and in links that reset a password or confirm an address. */
const CALLBACK_CODE = /(?<=[?&#]code=)[^&\s#"'<>]{16,}/g
const LINK_CODE =
  /(?<=\/(?:reset|password|reset[-_]password|password[-_]reset|magic[-_]?link|token|verify|verify[-_]email|confirm|confirm[-_]email|activate|invite|invitation|unsubscribe)\/)(?!0x)(?=[\w~-]{0,64}\d)(?=[\w~-]{0,64}[a-z])[\w~-]{20,}(?![\w.~-])/gi

function findCodes(text: string): Span[] {
  const links = text.includes('/') ? matches(LINK_CODE)(text) : []
  return /[?&#]state=/.test(text) ? [...links, ...matches(CALLBACK_CODE)(text)] : links
}

type NameKind = 'cookies' | 'authorization' | 'secret' | 'other'

function kindOf(name: string): NameKind {
  if (isCookieName(name)) return 'cookies'
  if (!isSecretName(name)) return 'other'
  return /authorization$/i.test(name) ? 'authorization' : 'secret'
}

/** Returns `true` if a name may have a value, by the character after it, or by those before it for options and elements. */
function mayHaveValue(text: string, start: number, end: number): boolean {
  let next = end
  while (next < end + MAX_SPACE && SPACE.has(text[next] ?? '')) next++
  return AFTER_NAME.has(text[next] ?? '') || text[start] === '-' || BEFORE_ELEMENT.has(text[start - 1] ?? '')
}

function nameAround(text: string, from: number, to: number): Span {
  let start = from
  while (from - start < MAX_NAME && NAME_CHARACTER.test(text.charAt(start - 1))) start--
  let end = to
  while (end - to < MAX_NAME && NAME_CHARACTER.test(text.charAt(end))) end++
  return [start, end]
}

/** Returns the values that a name has by the structure around it. */
function valuesOf(text: string, start: number, end: number, kind: NameKind): Span[] {
  const previous = text[start - 1] ?? ''
  const isQuoted = QUOTES.has(previous)
  const before = isQuoted || BEFORE_NAME.has(previous) ? text.slice(Math.max(0, start - 40), start) : ''
  if (/<(?:[\w-]{1,32}:)?$/.test(before)) return contentAfter(text, end)
  if (isQuoted && /(?:name|key)["'`]?\s?[=:]\s?["'`]$/i.test(before)) {
    const part = /key["'`]?\s?[=:]\s?["'`]$/i.test(before) ? [] : valuesAfter(text, PART_HEADERS, end, PART)
    return [...part, ...valuesAfter(text, VALUE_ATTRIBUTE, end, WORD)]
  }
  if (isQuoted && /=["'`]$/.test(before)) return fieldValue(text, start, end) // itself a value, as in `input[name="password"]`
  if (previous === '>' && /<(?:key|[\w-]{0,32}name)>$/i.test(before))
    return valuesAfter(text, NEXT_ELEMENT, end, ELEMENT)
  const nameEnd = skip(text, NAME_END, end) ?? end
  const sign = skip(text, SIGN, nameEnd)
  if (sign !== undefined) {
    if (/expected\s$/i.test(before)) return [] // `Unexpected token: punc` is a message of JavaScript parsers
    const isDotted = text.slice(start, end).includes('.')
    if (isDotted && skip(text, PLACE, end)) return []
    if ((isDotted || previous === ':') && skip(text, PACKAGE_VERSION, end)) return []
    return readValues(text, sign, patternFor(kind, text.slice(nameEnd, sign).includes(':')))
  }
  const isRow = kind === 'secret' && !/[\w.$-]/.test(previous)
  if (isRow && skip(text, COLUMN, nameEnd) !== undefined) return valuesAfter(text, COLUMN, nameEnd, CODE)
  const isInList = isQuoted && (/[[(]\s?["'`]$/.test(before) || kind !== 'secret')
  if (isInList) return valuesAfter(text, COMMA, nameEnd, WORD)
  return text[start] === '-' ? valuesAfter(text, FLAG_END, end, WORD) : []
}

/** Returns the pattern of a value without quotes. */
function patternFor(kind: NameKind, isHeader: boolean): RegExp {
  if (isHeader && kind !== 'secret') return LINE
  return kind === 'cookies' ? COOKIES : WORD
}

/** Returns the value in the tag of an element whose attribute names a secret. */
function fieldValue(text: string, start: number, end: number): Span[] {
  const lead = text.slice(Math.max(0, start - MAX_TAG), start)
  const tag = lead.slice(lead.lastIndexOf('<'))
  if (!/^<[a-z]/i.test(tag)) return []
  const after = skip(text, FIELD_VALUE, end)
  if (after !== undefined) return readValues(text, after, WORD).slice(0, 1)
  const match = VALUE_BEFORE.exec(tag)
  const value = match?.[1] ?? match?.[2]
  if (!match || value === undefined) return []
  const from = start - tag.length + match.index + match[0].indexOf(value)
  return [[from, from + value.length]]
}

function valuesAfter(text: string, between: RegExp, at: number, unquoted: RegExp): Span[] {
  const from = skip(text, between, at)
  return from === undefined ? [] : readValues(text, from, unquoted)
}

/** Returns the text of the element whose name ends at a position. */
function contentAfter(text: string, at: number): Span[] {
  const from = skip(text, TAG_END, at)
  const to = from === undefined ? undefined : skip(text, ELEMENT, from)
  return from === undefined || to === undefined ? [] : [[from, to]]
}

/** Returns the end of a match at a position; `undefined` if there is none. */
function skip(text: string, pattern: RegExp, at: number): number | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

/** Reads one or more texts in quotes, a list or object as a whole, or what `unquoted` matches. */
function readValues(text: string, from: number, unquoted: RegExp): Span[] {
  const first = text.charAt(from)
  if ('[{('.includes(first) && first !== '') return [[from, groupEnd(text, from)]]
  if (!QUOTES.has(first)) {
    unquoted.lastIndex = from
    const match = unquoted.exec(text)
    return match ? [[unquoted.lastIndex - (match[1] ?? match[0]).length, unquoted.lastIndex]] : []
  }
  const values: Span[] = []
  for (let at = from; QUOTES.has(text.charAt(at)); ) {
    const end = quoteEnd(text, at)
    values.push([at + 1, end])
    at = end + 1
    if (/\s/.test(text.charAt(at))) at++
    else break
  }
  return values
}

/** Returns the position of the quote that ends the quotes that begin at `at`, or the end of the text. */
function quoteEnd(text: string, at: number): number {
  const quote = text[at]
  for (let end = at + 1; end < text.length; end++) {
    if (text[end] === quote) return end
    if (text[end] === '\\') end++
  }
  return text.length
}

/** Returns the end of a list or object in brackets, or of the text. */
function groupEnd(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const character = text.charAt(at)
    if ('[{('.includes(character)) depth++
    else if (']})'.includes(character) && --depth === 0) return at + 1
    else if (character === '"') at = quoteEnd(text, at)
  }
  return text.length
}

const ORDINARY_WORDS = new Set(
  [
    'null undefined none nil nan true false yes no on off ok unknown empty blank required missing invalid incorrect wrong expired valid failed',
    'denied error expected unexpected unsupported optional must should cannot can may is are was were has have had will not the a an and or to',
    'too at in of for from with if when please enter string number boolean object array hidden redacted filtered removed omitted changed set',
    'unset provided specified given present absent flag option field value mismatch enabled disabled accepted rejected declined allowed blocked',
    'await async new function const default bearer',
  ].flatMap((line) => line.split(' ')),
)
/** Parameters of statements, templates, calls of functions, and what stands in place of a value that was removed. */
const MARKERS =
  /^(?:(?:[^\p{L}\p{N}]|\[(?:Filtered|email|creditcard|iban|imei|ip|jwt|key|mac|password|pemkey|auth|user|us-ssn|uuid|redacted|removed|hidden|array|object)\])*|\[object \w+\]|[a-z_$][\w$.]*\((?:\?|\$\d+|%s|:\w+)?|%\w|\$\d+|:[a-z_]+|@p\d+|%\(\w+(?:\)s)?|\$?\{\w*\}?|\{\{.*)$/iu

/** Variables and fields of objects. Those with the name of a secret are none themselves. */
const VARIABLE = /^(?:[$@](?:[A-Z_]+|[a-z][A-Za-z_]*)|[a-z_]\w*(?:\.[a-z_]\w*)+;?)$/

/** Returns `true` if a value is a placeholder, as in `password: required` and `WHERE token = ?`. */
function isPlaceholder(value: string): boolean {
  if (value.length > 40) return value.trim() === ''
  const isVariable = VARIABLE.test(value) && isSecretName(value.replace(/.*\./, ''))
  const word = value.toLowerCase().replace(/^(?:bearer|basic|token)\s+|[.!?:]+$/g, '')
  return isVariable || MARKERS.test(value) || ORDINARY_WORDS.has(word)
}
