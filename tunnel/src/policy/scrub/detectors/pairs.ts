/** Detector of secrets that a text names: `name=value`, `"name":"value"` and `Name: value`, as in URLs, headers and JSON within a text. */

import { isCookieName, isSecretName } from './secret-names.ts'
import type { Span } from './text-spans.ts'

const SEPARATOR = /[=:]|%3[ad]/gi
const NAME_CHARACTER = /[\w.-]/
const MAX_NAME = 64

const QUOTED: Readonly<Record<string, RegExp>> = {
  '"': /(?:[^"\\]|\\.)*/sy,
  "'": /(?:[^'\\]|\\.)*/sy,
  '`': /(?:[^`\\]|\\.)*/sy,
}
const OPENING = /\s{0,3}(\\{0,3})(["'`]?)/y
const ESCAPED = /[^"'`\\]*/y // between escaped quotes
const WORD = /(?:(?:bearer|basic|digest|token)\s{1,3})?([^\s&;,"'`\\<>)}]+)/iy
const LINE = /[^\r\n"'`\\]+/y

/** Finds the values of secrets. */
export function findPairs(text: string): Span[] {
  const found: Span[] = []
  let last = 0
  SEPARATOR.lastIndex = 0
  for (let sign = SEPARATOR.exec(text); sign; sign = SEPARATOR.exec(text)) {
    if (sign.index < last) continue
    const name = nameBefore(text, sign.index)
    const isHeader = sign[0] === ':' && (isCookieName(name) || /authorization$/i.test(name))
    if (!isCookieName(name) && (!isSecretName(name) || isParserError(name, sign[0]))) continue
    const [start, end] = valueAfter(text, SEPARATOR.lastIndex, isHeader ? LINE : WORD)
    if (end <= start) continue
    found.push([start, end])
    last = end
  }
  return found
}

/** `Unexpected token: punc` is a message of JavaScript parsers. */
function isParserError(name: string, sign: string): boolean {
  return sign === ':' && /^token$/i.test(name)
}

function nameBefore(text: string, at: number): string {
  let end = at
  while (end > 0 && at - end < 4 && ' "\'`\\'.includes(text.charAt(end - 1))) end--
  if (end > 0 && text[end - 1] === ']') end-- // user[password]=…
  let start = end
  while (start > 0 && end - start < MAX_NAME && NAME_CHARACTER.test(text.charAt(start - 1))) start--
  if (text[start - 1] === '%') start += 2 // an encoded character, as in %3Ftoken%3D
  return text.slice(start, end)
}

/** `unquoted` matches a value without quotes. */
function valueAfter(text: string, from: number, unquoted: RegExp): Span {
  OPENING.lastIndex = from
  const [, backslashes = '', quote = ''] = OPENING.exec(text) ?? []
  const pattern = quote === '' ? unquoted : backslashes === '' ? (QUOTED[quote] ?? ESCAPED) : ESCAPED
  pattern.lastIndex = OPENING.lastIndex
  const match = pattern.exec(text)
  if (!match) return [from, from]
  const end = pattern.lastIndex
  return [end - (match[1] ?? match[0]).length, end]
}
