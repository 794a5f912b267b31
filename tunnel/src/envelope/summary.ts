/** What a receipt says of an envelope: that it came, never what it says. */

import type { Receipt, ReceiptItem } from '../contract.ts'
import type { EnvelopeHeader } from './headers.ts'
import { categoryOfType, ITEM_TYPES, type Item } from './items.ts'
import { mostImportant } from './priorities.ts'
import type { Envelope } from './reader.ts'

const LABEL_LENGTH = 64
const NO_CATEGORY = 'none'

export function describe(receipt: Pick<Receipt, 'items'>, { items }: Envelope): void {
  receipt.items = summarise(items, NOTHING_OUT)
}

export function describeHeader(receipt: Pick<Receipt, 'event_id' | 'sdk'>, header: EnvelopeHeader): void {
  if (typeof header.event_id === 'string') receipt.event_id = header.event_id
  const sdk = nameSdk(header.sdk)
  if (sdk) receipt.sdk = sdk
}

const NOTHING_OUT: ReadonlyMap<Item, string> = new Map()

/** As short as the kinds of items are few: an envelope may hold a thousand, and thousands of receipts are kept. */
export function summarise(items: readonly Item[], out: ReadonlyMap<Item, string>): ReceiptItem[] {
  const [only, ...others] = items
  if (only && others.length === 0) return [newKind(nameType(only), only.bytes, out.get(only))]
  const kinds = new Map<string, ReceiptItem>()
  for (const item of items) {
    const type = nameType(item)
    const why = out.get(item)
    const kind = kinds.get(`${type} ${why}`)
    if (kind) {
      kind.count = (kind.count ?? 1) + 1
      kind.bytes += item.bytes
    } else kinds.set(`${type} ${why}`, newKind(type, item.bytes, why))
  }
  return [...kinds.values()]
}

/** What an envelope counts under: the most important category of what is left in it, or of all when nothing is. */
export function categoryOf(items: readonly ReceiptItem[]): string {
  const [only, ...others] = items
  if (only && others.length === 0) return categoryOfType(only.type) ?? NO_CATEGORY
  const left = items.filter(({ discard_reason: out }) => out === undefined)
  const counted = left.length > 0 ? left : items
  return mostImportant(counted.map(({ type }) => categoryOfType(type) ?? '')) || NO_CATEGORY
}

function nameType({ type }: Item): string {
  return ITEM_TYPES.has(type) ? type : 'other'
}

function newKind(type: string, bytes: number, why: string | undefined): ReceiptItem {
  return why === undefined ? { type, bytes } : { type, bytes, discard_reason: why }
}

function nameSdk(sdk: EnvelopeHeader['sdk']): string | undefined {
  if (typeof sdk?.name !== 'string') return undefined
  const version = typeof sdk.version === 'string' ? `/${sdk.version}` : ''
  return cut(`${sdk.name}${version}`)
}

/** A copy: of a text that is cut off V8 keeps the whole, for as long as the part is kept. */
export function cut(text: string, length = LABEL_LENGTH): string {
  return text.length > length ? Buffer.from(text.slice(0, length)).toString() : text
}
