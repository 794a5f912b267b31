/** What the feed can be filtered by: the values of the receipts among its rows, counted as these come and go. */

import type { Receipt } from 'tunnel/contract'
import type { FilterName } from './filter.ts'

type Chosen = Exclude<FilterName, 'outcome' | 'text'>

/** Each list sorted. */
export type Choices = Record<Chosen, readonly string[]>

const VALUES: Record<Chosen, (receipt: Receipt) => (string | undefined)[]> = {
  reason: ({ reason }) => [reason],
  project: ({ project }) => [project],
  type: ({ items }) => items.map(({ type }) => type),
  sdk: ({ sdk }) => [sdk],
}

const NAMES = Object.keys(VALUES) as Chosen[]

export type ChoiceBook = {
  /** The same object until a value comes or goes: receipts come by hundreds a second, new values hardly ever. */
  all(): Choices
  add(receipt: Receipt): void
  remove(receipt: Receipt): void
}

export function createChoiceBook(): ChoiceBook {
  const counts = forEach(() => new Map<string, number>())
  let choices: Choices | undefined
  return { all, add: (receipt) => count(receipt, 1), remove: (receipt) => count(receipt, -1) }

  function all(): Choices {
    choices ??= forEach((name) => [...counts[name].keys()].sort())
    return choices
  }

  function count(receipt: Receipt, by: 1 | -1): void {
    for (const name of NAMES)
      for (const value of VALUES[name](receipt)) if (value !== undefined) countValue(counts[name], value, by)
  }

  function countValue(many: Map<string, number>, value: string, by: 1 | -1): void {
    const before = many.get(value) ?? 0
    const after = before + by
    if (after === 0) many.delete(value)
    else many.set(value, after)
    if (before === 0 || after === 0) choices = undefined
  }
}

function forEach<T>(make: (name: Chosen) => T): Record<Chosen, T> {
  return Object.fromEntries(NAMES.map((name) => [name, make(name)])) as Record<Chosen, T>
}
