/** Results that most reports of the last minutes share, although Culvert lost none: rejected, declined, held back by a limit. */

import { type FigureCounts, type Figures, type FiguresPoint, sumFigures } from '../figures.ts'
import { UNAVAILABLE } from '../rejections.ts'

/** Reports that ended in one way. `since` is the first minute of those in a row in which most did, in milliseconds since 1970. */
export type Majority = {
  since: number
  count: number
  /** Number of all reports in this time. */
  total: number
  /** The most frequent result: outcome, colon and reason, such as `rejected:dsn-unknown`. */
  result: string
}

/** Smallest number of reports that counts as a majority. */
const MIN_REPORTS = 5
/** The same for results that no setting causes: strangers send broken envelopes, too. */
const MIN_BROKEN = 20
const BY_SETTINGS = ['dsn-unknown', 'origin-foreign', 'envelope-too-large', 'item-too-large', 'host-unknown']
const OWN_LIMITS = ['rate_limited:throttled', 'rate_limited:quota', 'rate_limited:quota-address']

/** Returns whether Culvert itself rejected or limited a report, by a rule or a limit of the operator. Losses are another problem. */
export function isTurnedAway(result: string): boolean {
  const [outcome, reason = ''] = result.split(':')
  return (outcome === 'rejected' && !UNAVAILABLE.has(reason)) || OWN_LIMITS.includes(result)
}

export function isDeclined(result: string): boolean {
  return result === 'declined'
}

/**
 * Returns the majority of the last minutes with reports, as long as it lasts. A minute without reports does not end it, so that a quiet site has
 * one as well; the first minute in which most reports end in another way does.
 */
export function findMajority({ points }: Figures, isPart: (result: string) => boolean): Majority | undefined {
  const busy = points.filter((point) => totalOf(point) > 0)
  const last = busy.findLastIndex((point) => !isMost(point, isPart))
  const row = busy.slice(last + 1)
  const [first] = row
  if (!first) return undefined
  const counts = sumFigures(row)
  const parts = Object.entries(resultsOf(counts)).filter(([result]) => isPart(result))
  const count = parts.reduce((sum, [, each]) => sum + each, 0)
  const [result = ''] = parts.toSorted(([, a], [, b]) => b - a)[0] ?? []
  const [outcome, reason = ''] = result.split(':')
  const isBroken = outcome === 'rejected' && !BY_SETTINGS.includes(reason)
  return count < (isBroken ? MIN_BROKEN : MIN_REPORTS)
    ? undefined
    : { since: first.time, count, total: totalOf(counts), result }
}

function isMost(counts: FiguresPoint, isPart: (result: string) => boolean): boolean {
  const parts = Object.entries(resultsOf(counts)).filter(([result]) => isPart(result))
  return 2 * parts.reduce((sum, [, count]) => sum + count, 0) > totalOf(counts)
}

function totalOf(counts: FigureCounts): number {
  return Object.values(resultsOf(counts)).reduce((sum, count) => sum + count, 0)
}

/** Returns the outcomes of reports, and the final outcomes of spooled ones. */
function resultsOf({ outcomes, final_outcomes }: FigureCounts): Record<string, number> {
  const { spooled: _, aborted: __, ...ended } = outcomes
  const { delivered = 0, declined = 0 } = final_outcomes
  return {
    ...ended,
    delivered: (ended.delivered ?? 0) + delivered,
    declined: (ended.declined ?? 0) + declined,
  }
}

/** Returns the errors that Sentry's rate limits have dropped in the last minutes with errors, and the first of these minutes. */
export function limitedErrors({ points }: Figures): { since: number; count: number } | undefined {
  const busy = points.filter(({ items }) => Object.keys(items).some((name) => name.startsWith('event:')))
  const row = busy.slice(busy.findLastIndex((point) => countLimited(point) === 0) + 1)
  const [first] = row
  return first && { since: first.time, count: row.reduce((sum, point) => sum + countLimited(point), 0) }
}

/** By a limit that was known before, or by the one in the response. */
function countLimited({ items }: FiguresPoint): number {
  return (items['event:limited'] ?? 0) + (items['event:rate_limited'] ?? 0)
}
