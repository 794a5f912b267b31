/** Which receipts are shown, and which one in full: both stand in the URL. The fate is how it was answered, or how its waiting ended. */

import type { Receipt, SpoolEnd } from 'tunnel/contract'

export const FILTERS = ['fate', 'project', 'reason', 'type', 'sdk', 'text'] as const

export type FilterName = (typeof FILTERS)[number]

export type FeedFilter = Partial<Record<FilterName, string>>

export function readFilter(query: Pick<URLSearchParams, 'get'>): FeedFilter {
  return Object.fromEntries(FILTERS.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])))
}

/** Names the receipt that is shown in full. */
export const OPENED = 'receipt'

export function writeView(filter: FeedFilter, opened: string | undefined): string {
  const all = Object.entries({ ...filter, [OPENED]: opened ?? '' })
  const query = new URLSearchParams(all.filter(([, value]) => value !== ''))
  return query.size > 0 ? `?${query}` : ''
}

export function passes(
  receipt: Receipt,
  end: SpoolEnd | undefined,
  { fate, project, reason, type, sdk, text }: FeedFilter,
): boolean {
  return (
    (!fate || receipt.answer === fate || end?.end === fate) &&
    (!project || receipt.project === project) &&
    (!reason || receipt.reason === reason) &&
    (!type || receipt.items.some((item) => item.type === type)) &&
    (!sdk || receipt.sdk === sdk) &&
    (!text || describes(receipt, text.toLowerCase()))
  )
}

function describes(receipt: Receipt, text: string): boolean {
  const { id, eventId, project, sdk, reason, answer, replica, items } = receipt
  return [id, eventId, project, sdk, reason, answer, replica, ...items.map(({ type }) => type)].some((each) =>
    each?.toLowerCase().includes(text),
  )
}
