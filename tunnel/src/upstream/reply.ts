/** Outcome of an envelope that Sentry has answered. */

import { isAscii } from 'node:buffer'
import type { Outcome } from '../pipeline.ts'
import type { UpstreamResponse } from './request.ts'

/** Passes Sentry's status and body on, unmodified, and three of its headers. */
export function outcomeOf(reply: UpstreamResponse): Outcome {
  const { status } = reply
  const answer = status < 300 ? 'delivered' : status === 429 ? 'rate_limited' : 'declined'
  return { outcome: answer, status, body: bodyOf(reply), headers: replyHeaders(reply) }
}

/** Gives the body as a string with one byte per character where that is possible: Node writes it in one piece with the head. */
function bodyOf({ body }: UpstreamResponse): BodyInit {
  return isAscii(body) ? body.toString('latin1') : body
}

function replyHeaders({ contentType, retryAfter, rateLimits }: UpstreamResponse): Record<string, string> {
  const headers: Record<string, string> = {}
  if (contentType) headers['content-type'] = contentType
  if (retryAfter) headers['retry-after'] = retryAfter
  if (rateLimits) headers['x-sentry-rate-limits'] = rateLimits
  return headers
}
