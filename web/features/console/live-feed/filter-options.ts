/** Values that the live feed can be filtered by: those of its receipts, counted as receipts come and go. */

import type { Receipt } from 'contract/admin-api'
import type { FilterName } from './filter.ts'

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
