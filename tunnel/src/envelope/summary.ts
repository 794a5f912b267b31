/** Summary of an envelope for its receipt, without its content. */

import type { Receipt, ReceiptItem, RemovalReason } from 'contract/admin-api'
import type { EnvelopeHeader } from './headers.ts'
import { categoryOfLabel, type Item, labelOf } from './items.ts'
import { mostImportant } from './priorities.ts'

const LABEL_LENGTH = 64
const NO_CATEGORY = 'none'

/** Some server SDKs name themselves only in `X-Sentry-Auth`, here `auth`, which nginx reduces to that. */
export function describeHeader(
  receipt: Pick<Receipt, 'event_id' | 'sdk'>,
  header: EnvelopeHeader,
  auth?: string | string[],
): void {
  if (typeof header.event_id === 'string') receipt.event_id = header.event_id
  const sdk = nameSdk(header.sdk) ?? readClient(String(auth))
  if (sdk) receipt.sdk = sdk
}

/** Groups items by type and discard reason: an envelope may have a thousand, and thousands of receipts are in memory. */
export function summarise(items: readonly Item[], removed: ReadonlyMap<Item, RemovalReason>): ReceiptItem[] {
  const kinds = new Map<string, ReceiptItem>()
  for (const item of items) {
    const type = labelOf(item)
    const reason = removed.get(item)
    const kind = kinds.get(`${type} ${reason}`)
    if (kind) {
      kind.count = (kind.count ?? 1) + 1
      kind.bytes += item.bytes
    } else {
      const discarded = reason === undefined ? {} : { discard_reason: reason }
      kinds.set(`${type} ${reason}`, { type, bytes: item.bytes, ...discarded })
    }
  }
  return [...kinds.values()]
}

/** Returns the most important category of the items that are left, or of all items when none is left. */
export function categoryOf(items: readonly ReceiptItem[]): string {
  const left = items.filter(({ discard_reason: reason }) => reason === undefined)
  const counted = left.length > 0 ? left : items
  return mostImportant(counted.map(({ type }) => categoryOfLabel(type) ?? '')) || NO_CATEGORY
}

function nameSdk(sdk: EnvelopeHeader['sdk']): string | undefined {
  if (typeof sdk?.name !== 'string') return undefined
  const version = typeof sdk.version === 'string' ? `/${sdk.version}` : ''
  return cut(`${sdk.name}${version}`)
}

function readClient(auth: string): string | undefined {
  const [, client] = /(?:^|[\s,])sentry_client=([\w./+-]+)/.exec(auth) ?? []
  return client && cut(client)
}

/** Truncates a text to a copy: V8's substrings keep the whole text in memory. */
export function cut(text: string, length = LABEL_LENGTH): string {
  return text.length > length ? Buffer.from(text.slice(0, length)).toString() : text
}
