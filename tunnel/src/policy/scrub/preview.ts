/** Preview of scrubbing: applies it to an envelope that is already stored. */

import type { ScrubChange } from 'contract/policies'
import { DEFAULT_HEADER_LIMITS, MAX_ITEMS } from '../../envelope/headers.ts'
import type { Item } from '../../envelope/items.ts'
import { EnvelopeReader } from '../../envelope/reader.ts'
import type { Scrubbing } from './scrub.ts'
import type { Change } from './walk.ts'

const MAX_TEXT = 300 // characters
const MAX_PATH = 200
const LEAD = 60 // characters before the first difference of long texts

/** Item of an envelope, with the reason of its removal or its redactions. */
export type Preview = { item: Item; result: ReturnType<Scrubbing['scrub']> }

/** Scrubs the items of an envelope. Throws a `Rejection` for bytes that are no envelope. */
export function previewEnvelope(envelope: Buffer, scrubbing: Scrubbing): Preview[] {
  return readItems(envelope, (type) => scrubbing.reads(type)).map((item) => ({
    item,
    result: scrubbing.scrub(item),
  }))
}

/** Reads the items of an envelope. Throws a `Rejection` for bytes that are no envelope. */
export function readItems(envelope: Buffer, keep: (type: string) => boolean): Item[] {
  const reader = new EnvelopeReader({ ...DEFAULT_HEADER_LIMITS, items: MAX_ITEMS, keep })
  reader.push(envelope)
  return reader.end().items
}

/** Describes the change of a value in an item, cut to 300 characters around the first difference. */
export function describeChange({ type }: Item, { host, path, before, after, remarks }: Change): ScrubChange {
  const rules = new Set(remarks.map(([rule]) => rule))
  return {
    item: type,
    path: [...host.path, ...path].join('.').slice(0, MAX_PATH),
    ...excerptsOf(textOf(before), textOf(after)),
    rule: [...rules].join(', ').slice(0, MAX_PATH),
  }
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
