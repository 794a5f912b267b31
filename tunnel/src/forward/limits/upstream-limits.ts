/** Rate limits that Sentry has set, by project and category. */

import type { RateLimitedReason } from 'contract/admin-api'
import { CATEGORY_NAMES } from 'contract/categories'
import type { RateLimit } from 'contract/rate-limits'
import type { LimitInForce } from 'contract/upstream'
import { addDependants, categoriesOf, type Item } from '../../envelope/items.ts'
import type { Envelope } from '../../envelope/reader.ts'
import type { Stage } from '../../pipeline/pipeline.ts'
import type { Project } from '../../pipeline/projects.ts'
import { type RateLimitHeaders, readRateLimits } from './rate-limits.ts'

/** Removes the items that Sentry's rate limits hold back. */
export function upstreamLimitsStage(limits: UpstreamLimits): Stage<'project' | 'remaining', 'remove'> {
  return function applyUpstreamLimits(ctx) {
    ctx.remove(limits.limit(ctx.project, ctx.remaining()), 'limited' satisfies RateLimitedReason)
    return undefined
  }
}

const ALL = 'all'

/** Number of 429 without categories that a project which accepts envelopes may send before they hold back every sender. */
const MAX_ALLOWANCE = 10
const NO_ITEMS: ReadonlySet<Item> = new Set()

/** End of a limit, and the time when it was learned. */
type End = { until: number; since: number; isStanding: boolean }

/** End of each limit by category, `ALL` included. */
type Ends = Map<string, End>

/** Limit on one category of a project, or on `all`. `until` is in milliseconds since 1970. */
export type UpstreamLimit = { project: Project; category: string; until: number }

/** Bounded by configured projects times Sentry's categories. Times are in milliseconds since 1970. */
export class UpstreamLimits {
  readonly #now: () => number
  readonly #byProject = new Map<Project, Ends>()
  /** Accepted envelopes minus responses 429 without categories, between 0 and `MAX_ALLOWANCE`. */
  readonly #allowances = new Map<Project, number>()
  #onLearned = () => {}

  constructor(now: () => number) {
    this.#now = now
  }

  /** Learns the limits in a response; of two limits on a category the longer applies. */
  learn(project: Project, response: RateLimitHeaders): void {
    const time = this.#now()
    if (this.#concernsOneSender(project, response)) return
    const limits = readRateLimits(response, time)
    for (const { seconds, categories, isStanding = false } of limits)
      for (const category of categories.length > 0 ? categories : [ALL])
        this.#extend(project, category, {
          until: time + seconds * 1000,
          since: time,
          isStanding,
        })
    if (limits.length > 0) this.#onLearned()
  }

  /**
   * Returns `true` for a 429 without categories while the project accepts most envelopes. GlitchTip refuses a random share of them, and a
   * proxy in front of Sentry may limit one address: only the sender of the envelope has to wait then.
   */
  #concernsOneSender(project: Project, { status, rateLimits }: RateLimitHeaders): boolean {
    const allowance = this.#allowances.get(project) ?? 0
    if (status >= 200 && status < 300) this.#allowances.set(project, Math.min(MAX_ALLOWANCE, allowance + 1))
    if (status !== 429 || rateLimits !== undefined) return false
    this.#allowances.set(project, Math.max(0, allowance - 1))
    return allowance > 0
  }

  /** Calls `listener` after each response with limits. */
  listen(listener: () => void): void {
    this.#onLearned = listener
  }

  /** Applies a limit that another replica has learned, unless its category is unknown. */
  adopt({ project, category, until }: UpstreamLimit): void {
    if (category === ALL || CATEGORY_NAMES.has(category))
      this.#extend(project, category, { until, since: this.#now(), isStanding: false })
  }

  /** Returns the items to hold back now, and their dependants. */
  limit(project: Project, { items }: Envelope): ReadonlySet<Item> {
    const ends = this.#current(project)
    if (!ends) return NO_ITEMS
    const held = new Set(items.filter((item) => isLimited(ends, item)))
    addDependants(items, held)
    return held
  }

  /** Returns the limits on the categories of these items, for the sender. */
  remaining(project: Project, items: Iterable<Item>): RateLimit[] {
    const categories = [...new Set([...items].flatMap(categoriesOf))].filter(
      (category) => this.until(project, category) > this.#now(), // dependants of a limited item may not be limited
    )
    const bySeconds = Map.groupBy(categories, (category) => {
      const ms = this.until(project, category) - this.#now()
      return Math.max(1, Math.ceil(ms / 1000))
    })
    return [...bySeconds].map(([seconds, categories]) => ({ seconds, categories }))
  }

  /** Returns the categories whose entries wait in the spool for the end of a limit. */
  limitedCategories(project: Project): string[] {
    const ends = this.#current(project)
    if (!ends) return []
    if (ends.has(ALL)) return [...CATEGORY_NAMES]
    return [...ends].flatMap(([category, { isStanding }]) => (isStanding ? [] : category))
  }

  /** Returns `true` for a project whose server has named categories that it does not store. */
  hasStanding(project: Project): boolean {
    return [...(this.#current(project)?.values() ?? [])].some(({ isStanding }) => isStanding)
  }

  /** Returns `true` for a category that the server does not store. */
  isStanding(project: Project, category: string): boolean {
    return this.#current(project)?.get(category)?.isStanding === true
  }

  /** Returns the end of the limit on a category; 0 without one. */
  until(project: Project, category: string): number {
    const ends = this.#current(project)
    return Math.max(ends?.get(ALL)?.until ?? 0, ends?.get(category)?.until ?? 0)
  }

  inForce(): LimitInForce[] {
    return this.#all().map(({ project, category, until, isStanding }) => ({
      project: project.name,
      category,
      until,
      ...(isStanding && { standing: true }),
    }))
  }

  /** Returns the limits to share with other replicas. These learn standing ones from their first response. */
  shared(): UpstreamLimit[] {
    return this.#all().filter(({ isStanding }) => !isStanding)
  }

  #all(): (UpstreamLimit & End)[] {
    return [...this.#byProject.keys()].flatMap((project) =>
      Array.from(this.#current(project) ?? [], ([category, end]) => ({ project, category, ...end })),
    )
  }

  #extend(project: Project, category: string, end: End): void {
    const ends: Ends = this.#current(project) ?? new Map()
    this.#byProject.set(project, ends)
    if (end.until > Math.max(this.#now(), ends.get(category)?.until ?? 0)) ends.set(category, end)
  }

  /**
   * Drops ended limits and returns the others; `undefined` for none. Drops also those that were learned later than now: the clock was set back
   * since, and they would last as much longer.
   */
  #current(project: Project): Ends | undefined {
    const ends = this.#byProject.get(project)
    if (!ends || ends.size === 0) return undefined
    const time = this.#now()
    for (const [category, { until, since }] of ends) if (until <= time || since > time) ends.delete(category)
    return ends
  }
}

/** Items without a category (client reports, unknown types) are never held back, as in Relay. */
function isLimited(ends: Ends, item: Item): boolean {
  const categories = categoriesOf(item)
  return categories.length > 0 && (ends.has(ALL) || categories.some((category) => ends.has(category)))
}
