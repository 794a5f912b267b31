/** Preview of scrubbing: applies it to an envelope that is already stored. */

import type { ScrubChange } from 'contract/policies'
import { createRangeRemover } from '../../envelope/body/ranges.ts'
import { DEFAULT_HEADER_LIMITS, MAX_ITEMS } from '../../envelope/headers.ts'
import type { Item } from '../../envelope/items.ts'
import { EnvelopeReader } from '../../envelope/reader.ts'
import type { Path } from './protected.ts'
import type { Scrubbed } from './scrubber.ts'

type Difference = { path: Path; before: unknown; after: unknown }

const MAX_TEXT = 300 // characters
const MAX_PATH = 200
const LEAD = 60 // characters before the first difference of long texts

/** Reads the items of an envelope. Throws a `Rejection` for bytes that are no envelope. */
export function readItems(envelope: Buffer, keep: (type: string) => boolean): Item[] {
  const reader = new EnvelopeReader({ ...DEFAULT_HEADER_LIMITS, items: MAX_ITEMS, keep })
  reader.push(envelope)
  return reader.end().items
}

export function applyEdits(payload: Buffer, { edits }: Pick<Scrubbed, 'edits'>): Buffer {
  return Buffer.concat(createRangeRemover(edits)(payload))
}

/** Returns the first `max` values of a payload that scrubbing changes, cut to 300 characters around the first difference, and their number. */
export function listChanges(
  item: Item,
  scrubbed: Scrubbed,
  max: number,
): { changes: ScrubChange[]; total: number } {
  const payload = Buffer.concat(item.payload)
  const [before, after] = [payload, applyEdits(payload, scrubbed)].map((each): unknown =>
    JSON.parse(each.toString()),
  )
  const differences = [...findDifferences(before, after)]
  const changes = differences.slice(0, max).map((difference) => ({
    item: item.type,
    path: difference.path.join('.').slice(0, MAX_PATH),
    ...excerptsOf(textOf(difference.before), textOf(difference.after)),
    ...findRule(after, difference.path, scrubbed),
  }))
  return { changes, total: differences.length }
}

/** Finds the innermost values that differ. An object in which the name of a member changes differs as a whole. */
function* findDifferences(before: unknown, after: unknown, path: Path = []): Generator<Difference> {
  if (isTree(before) && isTree(after)) {
    const names = namesOf(before)
    if (names.join('\n') === namesOf(after).join('\n')) {
      for (const name of names) yield* findDifferences(before[name], after[name], [...path, name])
      return
    }
  }
  if (before !== after) yield { path, before, after }
}

/** Objects and arrays. */
function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function namesOf(tree: Record<string, unknown>): string[] {
  return Object.keys(tree).filter((name) => name !== '_meta')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function excerptsOf(before: string, after: string): Pick<ScrubChange, 'before' | 'after'> {
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  const start = Math.max(before.length, after.length) > MAX_TEXT ? Math.max(0, same - LEAD) : 0
  return { before: excerptOf(before, start), after: excerptOf(after, start) }
}

function excerptOf(text: string, start: number): string {
  const rest = start > 0 ? `…${text.slice(start)}` : text
  return rest.length > MAX_TEXT ? `${rest.slice(0, MAX_TEXT - 1)}…` : rest
}

/** Reads the rules from the remarks in `_meta`. Items without remarks have a known rule if only one has found something. */
function findRule(scrubbed: unknown, path: Path, { hits }: Scrubbed): { rule?: string } {
  const remarks = [0, 2].flatMap((depth) => {
    const host = valueAt(scrubbed, path.slice(0, depth)) // the payload, or an element of `items`
    const found = valueAt(host, ['_meta', ...path.slice(depth), '', 'rem'])
    return Array.isArray(found) ? found.map((remark) => String(valueAt(remark, [0]))) : []
  })
  const rules = remarks.length > 0 ? remarks.filter((rule) => hits.has(rule)) : [...hits.keys()]
  if (remarks.length === 0 && rules.length > 1) return {}
  return rules.length > 0 ? { rule: [...new Set(rules)].join(', ').slice(0, MAX_PATH) } : {}
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (tree, name) => (isTree(tree) && Object.hasOwn(tree, name) ? tree[name] : undefined),
    value,
  )
}
