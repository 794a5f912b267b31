/** Rate limits that Culvert itself sends to the senders of envelopes. */

/** Without categories it covers all of them. */
export type RateLimit = { seconds: number; categories: string[] }

/** Seconds for which a sender that exceeds a limit of Culvert holds back: few, since a bucket refills quickly. */
export const THROTTLE_SECONDS = 10

/** Seconds of its rate that a sender may send at once. */
export const BURST_SECONDS = 10

/**
 * Writes the header `X-Sentry-Rate-Limits` as Relay's `format_rate_limits` does, with scope `key`. Each limit must have categories: one
 * without silences everything.
 */
export function formatRateLimits(limits: readonly RateLimit[], reason: string): string {
  return limits
    .map(({ seconds, categories }) => `${seconds}:${categories.join(';')}:key:${reason}`)
    .join(', ')
}
