/** What Sentry has asked us to hold back, and until when. */

import type { RateLimitedReason } from '../contract.ts'
import { addDependants, CATEGORY_NAMES, categoriesOf, type Item } from '../envelope/items.ts'
import type { Envelope } from '../envelope/reader.ts'
import type { Stage } from '../pipeline.ts'
import type { Project } from '../projects.ts'
import { type AskedBy, type RateLimit, readRateLimits } from './rate-limits.ts'

export type LimitInForce = { project: string; category: string; until: number }

export type UpstreamLimits = {
  /** Takes note of what an answer to an envelope of this project asks for; of two limits the longer stands. */
  learn(project: Project, answer: AskedBy): void
  /** The items to hold back now, dependants with them. */
  limit(project: Project, envelope: Envelope): Set<Item>
  /** For the sender: how much longer the categories of these items are held back. */
  remaining(project: Project, items: Iterable<Item>): RateLimit[]
  /** The categories of a project that are held back now. */
  limitedCategories(project: Project): string[]
  /** When a category is free again, in milliseconds since 1970; 0 when it is now. */
  until(project: Project, category: string): number
  inForce(): LimitInForce[]
}

/** Removes the items that Sentry's rate limits hold back. */
export function upstreamLimitsStage(limits: UpstreamLimits): Stage {
  return function applyUpstreamLimits(ctx) {
    ctx.remove(limits.limit(ctx.project, ctx.remaining()), 'limited' satisfies RateLimitedReason)
    return undefined
  }
}

const ALL = '*'
const NOTHING: Set<Item> = new Set()

/** Bounded by the projects in the table times Sentry's categories. Times are in milliseconds since 1970. */
export function createUpstreamLimits(now: () => number): UpstreamLimits {
  const byProject = new Map<Project, Map<string, number>>()
  return { learn, limit, remaining, limitedCategories, until, inForce }

  function learn(project: Project, answer: AskedBy): void {
    const time = now()
    for (const { seconds, categories } of readRateLimits(answer, time))
      for (const category of categories.length > 0 ? categories : [ALL])
        extend(project, category, time + seconds * 1000)
  }

  function extend(project: Project, category: string, until: number): void {
    const limits = byProject.get(project) ?? new Map<string, number>()
    byProject.set(project, limits)
    if (until > Math.max(now(), limits.get(category) ?? 0)) limits.set(category, until)
  }

  function limit(project: Project, { items }: Envelope): Set<Item> {
    const limits = byProject.get(project)
    if (!limits || limits.size === 0) return NOTHING
    forget(limits)
    const held = new Set(items.filter((item) => endOf(limits, item) > 0))
    addDependants(items, held)
    return held
  }

  /** Drops what has run out. */
  function forget(limits: Map<string, number>): void {
    const time = now()
    for (const [category, end] of limits) if (end <= time) limits.delete(category)
  }

  /** Items without a category (client reports, unknown types) are never held back, as in Relay. */
  function endOf(limits: Map<string, number>, item: Item): number {
    const categories = categoriesOf(item)
    if (categories.length === 0) return 0
    return Math.max(limits.get(ALL) ?? 0, ...categories.map((category) => limits.get(category) ?? 0))
  }

  function remaining(project: Project, items: Iterable<Item>): RateLimit[] {
    const limits = byProject.get(project) ?? new Map<string, number>()
    const byCategory = new Map<string, number>()
    for (const category of [...items].flatMap(categoriesOf)) {
      const end = Math.max(limits.get(ALL) ?? 0, limits.get(category) ?? 0)
      if (end > now()) byCategory.set(category, end) // what only hangs on something limited is not limited itself
    }
    return group(byCategory)
  }

  /** Categories that end together stand in one limit. */
  function group(byCategory: Map<string, number>): RateLimit[] {
    const bySeconds = Map.groupBy(byCategory, ([, end]) => Math.max(1, Math.ceil((end - now()) / 1000)))
    return [...bySeconds].map(([seconds, entries]) => ({
      seconds,
      categories: entries.map(([category]) => category),
    }))
  }

  function limitedCategories(project: Project): string[] {
    const limits = byProject.get(project)
    if (!limits || limits.size === 0) return []
    forget(limits)
    return limits.has(ALL) ? [...CATEGORY_NAMES] : [...limits.keys()]
  }

  function until(project: Project, category: string): number {
    const limits = byProject.get(project)
    return Math.max(limits?.get(ALL) ?? 0, limits?.get(category) ?? 0)
  }

  function inForce(): LimitInForce[] {
    return [...byProject].flatMap(([project, limits]) => {
      forget(limits)
      return [...limits].map(([category, end]) => ({
        project: project.name,
        category: CATEGORY_NAMES.has(category) ? category : 'all',
        until: end,
      }))
    })
  }
}
