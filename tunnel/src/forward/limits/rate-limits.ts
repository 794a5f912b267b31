/** Rate limits in responses of Sentry: reads `X-Sentry-Rate-Limits` and `Retry-After`, and passes them on to senders. */

import { CATEGORY_NAMES } from 'contract/categories'
import { formatRateLimits, type RateLimit } from 'contract/rate-limits'

/** Limit in a response. `isStanding`: the server does not store these categories, and says so with every response. */
export type ReceivedLimit = RateLimit & { isStanding?: true }

export type RateLimitHeaders = {
  status: number
  rateLimits: string | undefined
  retryAfter: string | undefined
}

const DEFAULT_SECONDS = 60
const STANDING_SECONDS = 60 * 60
export const MAX_LIMIT_SECONDS = 24 * 60 * 60 // longer than Sentry's; a wrong value must not silence a project for good

/**
 * Reads the limits of a response (develop.sentry.dev/sdk/expected-features/rate-limiting). The header, if present, counts alone and on any status. A 429 without it limits everything
 * for `Retry-After`, or a minute.
 */
export function readRateLimits(
  { status, rateLimits, retryAfter }: RateLimitHeaders,
  now: number,
): ReceivedLimit[] {
  if (rateLimits !== undefined) return rateLimits.split(',').flatMap(readLimit)
  if (status !== 429) return []
  return [{ seconds: readRetryAfter(retryAfter, now), categories: [] }]
}

/** Reads `seconds:categories:scope:reason:namespaces`. A limit that names only unknown categories is ignored. */
function readLimit(text: string): ReceivedLimit[] {
  const [retry = '', named = '', , reason = '', namespaces = ''] = text.replace(/\s/g, '').split(':')
  if (retry === '') return []
  const names = named.split(';').filter(Boolean)
  const categories = names.filter((name) => CATEGORY_NAMES.has(name) && appliesToUs(name, namespaces))
  if (names.length > 0 && categories.length === 0) return []
  const seconds = bound(Number(retry))
  return [
    { seconds, categories, ...(reason === '' && isStanding(seconds, categories) && { isStanding: true }) },
  ]
}

/**
 * Servers that store errors only, such as Bugsink, limit the other categories for a day in every response. Sentry names a reason for each
 * limit (`reason_code` of its quotas), and no server refuses errors for good.
 */
function isStanding(seconds: number, categories: readonly string[]): boolean {
  return seconds >= STANDING_SECONDS && categories.length > 0 && !categories.includes('error')
}

/** A limit on metric buckets may cover some namespaces only; SDKs use `custom`. */
function appliesToUs(category: string, namespaces: string): boolean {
  return category !== 'metric_bucket' || namespaces === '' || namespaces.split(';').includes('custom')
}

function readRetryAfter(header: string | undefined, now: number): number {
  if (header === undefined) return DEFAULT_SECONDS
  const seconds = Number(header)
  return bound(Number.isNaN(seconds) ? (Date.parse(header) - now) / 1000 : seconds)
}

function bound(seconds: number): number {
  if (!Number.isFinite(seconds)) return DEFAULT_SECONDS
  return Math.min(MAX_LIMIT_SECONDS, Math.max(0, Math.ceil(seconds)))
}

/**
 * Returns the value of `X-Sentry-Rate-Limits` for the sender of a response. A 429 without it gets one that names all categories: `sdk.js`
 * would take it for that of a proxy, and other SDKs would hold back client reports, too.
 */
export function rateLimitsFor(response: RateLimitHeaders, now: number): string | undefined {
  const { status, rateLimits } = response
  if (rateLimits || status !== 429) return rateLimits
  const limits = readRateLimits({ ...response, rateLimits: undefined }, now)
  const scoped = limits.map(({ seconds }) => ({ seconds, categories: [...CATEGORY_NAMES] }))
  return formatRateLimits(scoped, 'generic')
}
