/** Filter of the live feed and the opened receipt, both kept in the URL. */

import type { Receipt, SpoolOutcome } from 'tunnel/contract'
import { outcomeLabel } from '../../../ui/states.ts'

export const FILTERS = ['outcome', 'project', 'reason', 'type', 'sdk', 'text'] as const

export type FilterName = (typeof FILTERS)[number]

export type FeedFilter = Partial<Record<FilterName, string>>

export function readFilter(query: Pick<URLSearchParams, 'get'>): FeedFilter {
  return Object.fromEntries(FILTERS.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])))
}

/** Query parameter of the opened receipt. */
export const OPENED = 'receipt'

export function writeView(filter: FeedFilter, opened: string | undefined): string {
  const all = Object.entries({ ...filter, [OPENED]: opened ?? '' })
  const query = new URLSearchParams(all.filter(([, value]) => value !== ''))
  return query.size > 0 ? `?${query}` : ''
}

/** Reports whether a receipt matches; `outcome` is compared with the outcome that its row shows, the final one if there is one. */
export function matches(
  { receipt, finalOutcome }: { receipt: Receipt; finalOutcome?: SpoolOutcome },
  { outcome, project, reason, type, sdk, text }: FeedFilter,
): boolean {
  return (
    (!outcome || (finalOutcome?.final_outcome ?? receipt.outcome) === outcome) &&
    (!project || receipt.project === project) &&
    (!reason || receipt.reason === reason) &&
    (!type || receipt.items.some((item) => item.type === type)) &&
    (!sdk || receipt.sdk === sdk) &&
    (!text || contains(receipt, text.toLowerCase()))
  )
}

function contains(receipt: Receipt, text: string): boolean {
  const { id, event_id: eventId, project, sdk, reason, outcome, replica, items } = receipt
  const texts = [id, eventId, project, sdk, reason, outcomeLabel(outcome), replica]
  return [...texts, ...items.map(({ type }) => type)].some((each) => each?.toLowerCase().includes(text))
}
