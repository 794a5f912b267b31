/** Accounts for the items that policies removed: in the receipt, to Sentry, and to the sender when no item is left. */

import type { RateLimitedReason } from '../contract.ts'
import { type Item, limitNameOf } from '../envelope/items.ts'
import { summarise } from '../envelope/summary.ts'
import { accepted, type Context, type Outcome, type Stage } from '../pipeline.ts'
import type { ClientReports } from './client-reports.ts'
import { type RateLimit, rateLimited } from './rate-limits.ts'
import { THROTTLE_SECONDS } from './throttle.ts'
import type { UpstreamLimits } from './upstream-limits.ts'

/** Ends the pipeline when no item is left. Runs after every stage that removes items. */
export function removedItemsStage(limits: UpstreamLimits, reports: ClientReports | undefined): Stage {
  return function accountForRemovedItems(ctx) {
    const { envelope, project, removed, removedElements } = ctx
    if (removed.size + removedElements.size === 0) return undefined
    const reasons = new Map([...removed, ...removedElements])
    const byReason = Map.groupBy(reasons.keys(), (item) => reasons.get(item) ?? '')
    for (const [reason, items] of byReason)
      reports?.note(project, isRateLimit(reason) ? 'rate_limited_events' : 'filtered_events', reason, items)
    ctx.receipt.items = summarise([...envelope.items, ...removedElements.keys()], reasons)
    if (removed.size < envelope.items.length) return undefined
    const [limited = [], throttled = []] = [byReason.get('limited'), byReason.get('throttled')]
    if (limited.length + throttled.length > 0)
      return allRateLimited(ctx, limits.remaining(project, limited), throttled)
    const [reason = ''] = byReason.keys()
    return accepted(ctx, { outcome: 'filtered', reason, status: 200 })
  }
}

function isRateLimit(reason: string): reason is RateLimitedReason {
  return reason === 'limited' || reason === 'throttled'
}

/** `upstreamLimits` are Sentry's limits in force, `throttled` the items that exceed our own limits. */
function allRateLimited(ctx: Context, upstreamLimits: RateLimit[], throttled: readonly Item[]): Outcome {
  const limits = [...upstreamLimits]
  if (throttled.length > 0) limits.push({ seconds: THROTTLE_SECONDS, categories: limitNamesOf(throttled) })
  if (limits.length === 0) limits.push({ seconds: 1, categories: limitNamesOf(ctx.removed.keys()) }) // it has just ended
  const reasons = [...new Set(ctx.removed.values())].join(', ')
  return rateLimited(
    ctx,
    throttled.length > 0 ? 'throttled' : 'limited',
    `All items were removed. Reasons: ${reasons}.`,
    limits,
  )
}

function limitNamesOf(items: Iterable<Item>): string[] {
  return [...new Set(Array.from(items, limitNameOf))]
}
