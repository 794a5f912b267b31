/** Accounts for the items that policies removed: in the receipt, to Sentry, and to the sender when no item is left. */

import type { RateLimitedReason } from 'contract/admin-api'
import { type RateLimit, THROTTLE_SECONDS } from 'contract/rate-limits'
import { type Item, limitNameOf } from '../envelope/items.ts'
import { summarise } from '../envelope/summary.ts'
import type { ClientReports } from '../pipeline/client-reports.ts'
import { accepted, type Outcome, type Parts, type Stage } from '../pipeline/pipeline.ts'
import type { Project } from '../pipeline/projects.ts'
import { type Refusable, rateLimited } from './rate-limited.ts'

/** Sentry's limits on the categories of items. */
type SentryLimits = { remaining(project: Project, items: Iterable<Item>): RateLimit[] }

/** Ends the pipeline when no item is left. Runs after every stage that removes items. */
export function removedItemsStage(
  limits: SentryLimits,
  reports: ClientReports,
): Stage<
  'envelope' | 'project' | 'removed' | 'ownLimits' | keyof Refusable,
  'isLossReported' | 'onOutcome' | 'receipt'
> {
  return function accountForRemovedItems(ctx) {
    const { envelope, project, removed } = ctx
    if (removed.size === 0) return undefined
    const byReason = Map.groupBy(removed.keys(), (item) => removed.get(item) ?? '')
    const isEmpty = envelope.items.every((item) => removed.has(item))
    ctx.onOutcome(({ outcome, reason: cause }) => {
      if (outcome === 'deferred' || cause === 'duplicate') return // they come again, or were reported before
      for (const [reason, items] of byReason)
        reports.note(project, isRateLimit(reason) ? 'rate_limited_events' : 'filtered_events', reason, items)
    })
    ctx.receipt.items = summarise([...new Set([...envelope.items, ...removed.keys()])], removed)
    if (!isEmpty) return undefined
    ctx.isLossReported = !(byReason.has('throttled') && ctx.isKeptBySender())
    if (RATE_LIMITED.some((reason) => byReason.has(reason)))
      return allRateLimited(ctx, limits.remaining(project, byReason.get('limited') ?? []), byReason)
    const [reason = ''] = byReason.keys()
    return accepted(ctx, { outcome: 'filtered', reason })
  }
}

/** The reason of an envelope is the first of those of its items. */
const RATE_LIMITED: readonly RateLimitedReason[] = ['throttled', 'quota', 'quota-address', 'limited']

function isRateLimit(reason: string): boolean {
  return RATE_LIMITED.some((each) => each === reason)
}

/** `upstreamLimits` are Sentry's limits in force. */
function allRateLimited(
  ctx: Refusable & Parts<'ownLimits' | 'removed'>,
  upstreamLimits: readonly RateLimit[],
  byReason: ReadonlyMap<string, readonly Item[]>,
): Outcome {
  const throttled = byReason.get('throttled') ?? []
  const limits = mergeLimits([...upstreamLimits, ...ctx.ownLimits])
  if (throttled.length > 0) limits.push({ seconds: THROTTLE_SECONDS, categories: limitNamesOf(throttled) })
  if (limits.length === 0) limits.push({ seconds: 1, categories: limitNamesOf(ctx.removed.keys()) }) // it has just ended
  const reasons = [...new Set(ctx.removed.values())].join(', ')
  return rateLimited(
    ctx,
    RATE_LIMITED.find((reason) => byReason.has(reason)) ?? 'limited',
    `All items were removed. Reasons: ${reasons}.`,
    limits,
  )
}

/** Returns each limit once, the longest of a category. */
function mergeLimits(limits: readonly RateLimit[]): RateLimit[] {
  const longest = new Map<string, number>()
  for (const { seconds, categories } of limits)
    for (const category of categories) longest.set(category, Math.max(seconds, longest.get(category) ?? 0))
  const bySeconds = Map.groupBy(longest.keys(), (category) => longest.get(category) ?? 0)
  return Array.from(bySeconds, ([seconds, categories]) => ({ seconds, categories }))
}

function limitNamesOf(items: Iterable<Item>): string[] {
  return [...new Set(Array.from(items, limitNameOf))]
}
