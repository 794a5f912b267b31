/** What a receipt says of an envelope: that it came, never what it says. */

import type { Receipt, ReceiptItem } from './contract.ts'
import type { Envelope, Item } from './envelope.ts'
import { ITEM_TYPES } from './items.ts'

const LABEL_LENGTH = 64

export function describe(
  receipt: Pick<Receipt, 'items' | 'eventId' | 'sdk'>,
  { header, eventId, items }: Envelope,
): void {
  receipt.items = summarise(items, NOTHING_OUT)
  if (eventId) receipt.eventId = eventId
  const sdk = nameSdk(header.sdk)
  if (sdk) receipt.sdk = sdk
}

const NOTHING_OUT: ReadonlyMap<Item, string> = new Map()

/** As short as the kinds of items are few: an envelope may hold a thousand, and thousands of receipts are kept. */
export function summarise(items: readonly Item[], out: ReadonlyMap<Item, string>): ReceiptItem[] {
  const kinds = new Map<string, ReceiptItem>()
  for (const item of items) {
    const type = ITEM_TYPES.has(item.type) ? item.type : 'other'
    const why = out.get(item)
    const kind = kinds.get(`${type} ${why}`)
    if (kind) {
      kind.count = (kind.count ?? 1) + 1
      kind.bytes += item.bytes
    } else kinds.set(`${type} ${why}`, { type, bytes: item.bytes, ...(why && { out: why }) })
  }
  return [...kinds.values()]
}

function nameSdk(sdk: unknown): string | undefined {
  if (typeof sdk !== 'object' || sdk === null || !('name' in sdk) || typeof sdk.name !== 'string')
    return undefined
  const version = 'version' in sdk && typeof sdk.version === 'string' ? `/${sdk.version}` : ''
  return `${sdk.name}${version}`.slice(0, LABEL_LENGTH)
}
