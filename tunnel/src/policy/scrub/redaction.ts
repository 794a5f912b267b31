/** Rules, and their result for a text: the redacted parts, and a remark for each of them as Relay writes it. */

import { createHmac } from 'node:crypto'
import { decodeText } from './decoded-text.ts'
import type { Span } from './detectors/text-spans.ts'

export type Method =
  | { kind: 'remove' }
  | { kind: 'replace'; text: string }
  | { kind: 'mask' }
  | { kind: 'hash'; key: string }

/** A rule that is ready to be applied. It finds parts of texts, or members by their name, or both. */
export type Rule = {
  /** Name in remarks and metrics, like `@email:replace`. */
  id: string
  method: Method
  /** Finds the parts of a text to redact. */
  find?: (text: string) => Span[]
  /** `find` finds nothing in a text with none of these classes of characters, or with fewer units or digits. */
  needs: number
  minLength: number
  minDigits: number
  /** Tells by its name if a member is redacted as a whole. */
  matchesName?: (name: string) => boolean
  /** Redacts every value that the selector matches, also objects and arrays. */
  isWhole?: true
  /** Redacts a whole number of 13 digits or more if `find` finds it. */
  findsNumbers?: true
  /** Members that the rule does not apply to. */
  exempt?: RegExp
}

/** Redacted part of a text. Ranges count UTF-16 units of the text before. */
export type Redaction = { start: number; end: number; text: string; rule: Rule }

/** Remark of Relay: the rule, `x` removed, `s` substituted, `m` masked or `p` pseudonymized, and a range in bytes of the new text. */
export type Remark = [rule: string, type: 'x' | 's' | 'm' | 'p', start?: number, end?: number]

const REMARK_TYPES = { remove: 'x', replace: 's', mask: 'm', hash: 'p' } as const
const UNMATCHABLE = '\0' // stands for a redacted part, so that no later rule finds something in it
const MAX_MATCHES = 1000 // of one rule in one text; with more, the text is redacted from the first match to the last

/** Values that are never personal data (`process_string` in relay-pii/src/processor.rs). */
const NEUTRAL = new Set(['', 'true', 'false', 'null', 'undefined'])

export function isNeutral(text: string): boolean {
  return text.length < 10 && NEUTRAL.has(text)
}

/**
 * Applies rules in order to the part of a text from `from` on. What one rule has redacted is not searched by the next. They search the text
 * without its escapes first, since a part of an escape is no boundary of an address, and then with them, since an escaped separator does
 * not end a value.
 */
export function applyRules(
  text: string,
  rulesFor: (text: string) => readonly Rule[],
  from: number,
): Redaction[] {
  let redactions: Redaction[] = []
  for (const round of decodeText(text).reverse()) {
    let searched = redactions.length > 0 ? round.cover(redactions, UNMATCHABLE) : round.text
    for (const rule of rulesFor(searched)) {
      const found = rule.find?.(searched) ?? []
      const isWithin = (span: Span) => span[1] > span[0] && round.sourceOf(span)[0] >= from
      const spans = boundSpans(found.filter(isWithin).sort((a, b) => a[0] - b[0]))
      if (spans.length === 0) continue
      const parts = spans.map((span) => round.sourceOf(span))
      redactions = replaceRedactions(
        text,
        redactions,
        parts.map(([start, end]) => ({ start, end, rule })),
      )
      searched = cover(searched, spans)
    }
  }
  return redactions
}

/**
 * Adds redactions in the place of the known ones that they contain. One that reaches only a part of a known one would leave the rest of it
 * readable: then the rule of the known one redacts both. Returns them sorted.
 */
export function replaceRedactions(
  text: string,
  known: readonly Redaction[],
  added: readonly Pick<Redaction, 'start' | 'end' | 'rule'>[],
): Redaction[] {
  const all = new Set<object>(known)
  const isKnown = (each: object): each is Redaction => all.has(each)
  const sorted = [...known, ...added].sort((a, b) => a.start - b.start)
  const redactions: Redaction[] = []
  for (let index = 0; index < sorted.length; ) {
    const [from, start] = [index, sorted[index]?.start ?? 0]
    let end = start
    for (; index === from || (sorted[index]?.start ?? Infinity) < end; index++)
      end = Math.max(end, sorted[index]?.end ?? 0)
    const overlapping = sorted.slice(from, index)
    const before = overlapping.filter(isKnown)
    const after = overlapping.filter((each) => !isKnown(each))
    const isPartial = (other: Redaction) =>
      !after.some((each) => each.start <= other.start && each.end >= other.end)
    const rule = before.find(isPartial)?.rule ?? after[0]?.rule
    const redacted = rule && replacementFor(rule.method, text.slice(start, end))
    if (after.length === 0 || !rule || redacted === undefined || redacted === text.slice(start, end))
      redactions.push(...before)
    else redactions.push({ start, end, text: redacted, rule })
  }
  return redactions
}

/** Returns `true` if one redaction covers a text from its start to its end. */
export function coversAll(text: string, redactions: readonly Redaction[]): boolean {
  return redactions.some(({ start, end }) => start === 0 && end === text.length)
}

function boundSpans(spans: Span[]): Span[] {
  const [first] = spans
  const last = spans.at(-1)
  return first && last && spans.length > MAX_MATCHES ? [[first[0], last[1]]] : spans
}

function cover(text: string, sorted: readonly Span[]): string {
  const parts: string[] = []
  let at = 0
  for (const [start, end] of sorted) {
    if (start < at) continue
    parts.push(text.slice(at, start), UNMATCHABLE.repeat(end - start))
    at = end
  }
  return parts.join('') + text.slice(at)
}

/** Redacts a text as a whole, if that changes it. */
export function redactWhole(text: string, rule: Rule): Redaction[] {
  const redacted = replacementFor(rule.method, text)
  return redacted === text ? [] : [{ start: 0, end: text.length, text: redacted, rule }]
}

function replacementFor(method: Method, text: string): string {
  if (method.kind === 'remove') return ''
  if (method.kind === 'replace') return method.text
  if (method.kind === 'mask') return '*'.repeat(Array.from(text).length)
  return createHmac('sha1', method.key).update(text).digest('hex').toUpperCase() // `hash_value` in relay-pii/src/utils.rs
}

/** Returns a text with its redacted parts replaced. */
export function replaceParts(text: string, redactions: readonly Redaction[]): string {
  let replaced = ''
  let at = 0
  for (const { start, end, text: redacted } of redactions) {
    replaced += text.slice(at, start) + redacted
    at = end
  }
  return replaced + text.slice(at)
}

/** Returns the remarks of a redacted text. */
export function remarksOf(text: string, redactions: readonly Redaction[]): Remark[] {
  let at = 0
  let bytes = 0
  return redactions.map(({ start, end, text: redacted, rule }) => {
    bytes += Buffer.byteLength(text.slice(at, start))
    const from = bytes
    bytes += Buffer.byteLength(redacted)
    at = end
    return [rule.id, REMARK_TYPES[rule.method.kind], from, bytes]
  })
}

/** Counts Unicode characters, as Relay does. */
export function countCharacters(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0)
}
