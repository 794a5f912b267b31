/** Values of secret columns in SQL: `IN`, `LIKE`, `INSERT … VALUES` and `IDENTIFIED BY`. Assignments and `=` are pairs. */

import { isSecretName } from './secret-names.ts'
import type { Span } from './text-spans.ts'

/** Reads the value at a position: a text in quotes or a list in brackets. */
export type ValueReader = (text: string, at: number) => Span[]

const KEYWORD = /\b(?:in|like|values|by)\b/i
const COMPARISON = /\s(?:i?like\s{1,3}(?=['"])|in\s{0,3}(?=\(\s?['"]))/gi
const MAX_NAME = 64
const MAX_KNOWN = 500
const MAX_FOUND = 1000 // with more, all after the first is redacted
const IDENTIFIED = /\bidentified\s{1,3}by\s{1,3}(?:password\s{1,3})?(?=['"])/gi
const INSERT = /\binto\s{1,3}[^\s()]{1,128}\s{0,3}\(([^()]{1,2000})\)\s{0,8}values?\s{0,8}(?=\()/gi
const MAX_COLUMNS = 200

/** Finds the values of secret columns. */
export function findSqlValues(text: string, readValues: ValueReader): Span[] {
  if (!KEYWORD.test(text)) return []
  const found: Span[] = []
  const known = new Map<string, boolean>()
  const isSecret = (column: string) => {
    const result = known.get(column) ?? (column !== '' && isSecretName(column))
    if (known.size < MAX_KNOWN) known.set(column, result)
    return result
  }
  for (const { 0: all, index } of text.matchAll(IDENTIFIED)) {
    found.push(...readValues(text, index + all.length))
    if (found.length > MAX_FOUND) return toEnd(text, found)
  }
  let end = 0 // what is part of a value is not read again
  for (const { 0: all, index } of text.matchAll(COMPARISON)) {
    if (index < end || !isSecret(columnBefore(text, index))) continue
    const values = readValues(text, index + all.length)
    end = values.at(-1)?.[1] ?? end
    found.push(...values)
    if (found.length > MAX_FOUND) return toEnd(text, found)
  }
  end = 0
  for (const { 0: all, 1: list = '', index } of text.matchAll(INSERT)) {
    if (index < end) continue
    const columns = list.split(',', MAX_COLUMNS).map((column) => isSecret(column.trim()))
    if (columns.includes(true)) end = readRows(text, index + all.length, columns, found)
    if (found.length > MAX_FOUND) return toEnd(text, found)
  }
  return found
}

function toEnd(text: string, found: readonly Span[]): Span[] {
  return [[Math.min(...found.map(([start]) => start)), text.length]]
}

/** Returns the name of a column that ends at a position, perhaps in quotes and before `NOT`. */
function columnBefore(text: string, position: number): string {
  let end = /\snot$/i.test(text.slice(Math.max(0, position - 4), position)) ? position - 4 : position
  if ('`"]'.includes(text.charAt(end - 1))) end--
  let start = end
  while (end - start < MAX_NAME && /[\w.]/.test(text.charAt(start - 1))) start--
  return text.slice(start, end)
}

const ROW_START = /\s{0,8},?\s{0,8}\(/y
const LITERAL = /\s{0,8}(?:'((?:[^'\\]|''|\\.)*)'?|([^,)]*))/sy

/** Adds the values of secret columns in the rows after `VALUES`. Returns the end of the rows. */
function readRows(text: string, from: number, isSecret: readonly boolean[], found: Span[]): number {
  let at = from
  for (;;) {
    ROW_START.lastIndex = at
    if (!ROW_START.test(text)) return at
    at = ROW_START.lastIndex
    for (let column = 0; at < text.length && column < MAX_COLUMNS; column++) {
      LITERAL.lastIndex = at
      const [all = '', quoted, plain = ''] = LITERAL.exec(text) ?? []
      const value = quoted ?? plain.trimEnd()
      const start = at + all.indexOf(value, quoted === undefined ? 0 : all.indexOf("'") + 1)
      if (isSecret[column] && value !== '') found.push([start, start + value.length])
      if (found.length > MAX_FOUND) return text.length
      at += all.length
      if (text[at++] !== ',') break
    }
  }
}
