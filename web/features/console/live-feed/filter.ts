/** Filter of the live feed and the opened receipt, both kept in the URL. */

import type { Receipt, SpoolOutcome } from 'contract/admin-api'
import { outcomeLabel } from '../../../ui/states.ts'

const FILTERS = ['outcome', 'project', 'reason', 'type', 'sdk', 'text'] as const

export type FilterName = (typeof FILTERS)[number]

/** `from` and `to` are times of receipts as in RFC 3339; `to` is excluded. */
export type FeedFilter = Partial<Record<FilterName | 'from' | 'to', string>>

export function readFilter(query: Pick<URLSearchParams, 'get'>): FeedFilter {
  const names = [...FILTERS, 'from', 'to'] as const
  return Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])))
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
  { outcome, project, reason, type, sdk, text, from, to }: FeedFilter,
): boolean {
  return (
    (!outcome || (finalOutcome?.final_outcome ?? receipt.outcome) === outcome) &&
    (!project || receipt.project === project) &&
    (!reason || receipt.reason === reason) &&
    (!type || receipt.items.some((item) => item.type === type)) &&
    (!sdk || receipt.sdk === sdk) &&
    (!text || contains(receipt, text.toLowerCase())) &&
    receipt.time >= (timeOf(from) ?? -Infinity) &&
    receipt.time < (timeOf(to) ?? Infinity)
  )
}

/** Returns milliseconds since 1970; `undefined` for no time, or for a text that is none. */
export function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? undefined : time
}

function contains(receipt: Receipt, text: string): boolean {
  const { id, event_id: eventId, project, sdk, reason, outcome, replica, items } = receipt
  const texts = [id, eventId, project, sdk, reason, outcomeLabel(outcome), replica]
  return [...texts, ...items.map(({ type }) => type)].some((each) => each?.toLowerCase().includes(text))
}

type OptionName = Exclude<FilterName, 'outcome' | 'text'>

/** Sorted values by filter. */
export type FilterOptions = Record<OptionName, readonly string[]>

const VALUES: Record<OptionName, (receipt: Receipt) => (string | undefined)[]> = {
  reason: ({ reason }) => [reason],
  project: ({ project }) => [project],
  type: ({ items }) => items.map(({ type }) => type),
  sdk: ({ sdk }) => [sdk],
}

const NAMES = Object.keys(VALUES) as OptionName[]

export class FilterChoices {
  readonly #counts = forEachName(() => new Map<string, number>())
  #options: FilterOptions | undefined

  /** Returns the same object until a value comes or goes. */
  all(): FilterOptions {
    this.#options ??= forEachName((name) => [...this.#counts[name].keys()].sort())
    return this.#options
  }

  add(receipt: Receipt): void {
    this.#count(receipt, 1)
  }

  remove(receipt: Receipt): void {
    this.#count(receipt, -1)
  }

  #count(receipt: Receipt, change: 1 | -1): void {
    for (const name of NAMES)
      for (const value of VALUES[name](receipt)) {
        if (value === undefined) continue
        const counts = this.#counts[name]
        const before = counts.get(value) ?? 0
        const after = before + change
        if (after === 0) counts.delete(value)
        else counts.set(value, after)
        if (before === 0 || after === 0) this.#options = undefined
      }
  }
}

function forEachName<T>(create: (name: OptionName) => T): Record<OptionName, T> {
  return Object.fromEntries(NAMES.map((name) => [name, create(name)])) as Record<OptionName, T>
}
