/** Outcome of an envelope that exceeds rate limits. */

import type { RateLimitedReason } from 'contract/admin-api'
import { formatRateLimits, type RateLimit } from 'contract/rate-limits'
import { Rejection, rejectionBody } from 'contract/rejections'
import { jsonHeaders, type Outcome, type Parts } from '../pipeline/pipeline.ts'

/** Request that a rate limit ends. */
export type Refusable = Parts<'client' | 'isKeptBySender' | 'isLossReported'>

/**
 * Builds the outcome of an envelope without remaining items: 429 with the limits for the SDK. The limits of the tunnel itself have another
 * code, since the transport of `sdk.js` keeps an envelope that exceeds them.
 */
export function rateLimited(
  ctx: Refusable,
  reason: RateLimitedReason,
  cause: string,
  limits: readonly RateLimit[],
): Outcome {
  const isThrottled = reason === 'throttled'
  const rejection = new Rejection(isThrottled ? 'throttled' : 'rate-limited', cause)
  return {
    outcome: isThrottled && ctx.isKeptBySender() ? 'deferred' : 'rate_limited',
    reason,
    status: rejection.status,
    body: rejectionBody(rejection, ctx.client.requestId, { reported: ctx.isLossReported }),
    headers: { ...jsonHeaders(), 'x-sentry-rate-limits': formatRateLimits(limits, 'tunnel') },
  }
}
