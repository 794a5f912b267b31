/** The answer to a post: a status, a body, and the few headers that go along. */

import type { Reply } from './exchange.ts'
import { corsHeaders, type Sender } from './origin.ts'

/** Whom it is for. */
export type Recipient = { caller: { requestId: string }; sender: Sender }

const BODILESS = new Set([204, 205])

/** `headers` is taken over. */
export function respond(
  { caller, sender }: Recipient,
  status: number,
  body: BodyInit | null,
  headers: Record<string, string>,
): Response {
  headers['x-request-id'] = caller.requestId
  if (sender.foreign !== undefined) Object.assign(headers, corsHeaders(sender))
  return new Response(BODILESS.has(status) ? null : body, { status, headers })
}

export function jsonType(): Record<string, string> {
  return { 'content-type': 'application/json' }
}

/** Of Sentry's headers these three, and nothing else. */
export function replyHeaders({ contentType, retryAfter, rateLimits }: Reply): Record<string, string> {
  const headers: Record<string, string> = {}
  if (contentType) headers['content-type'] = contentType
  if (retryAfter) headers['retry-after'] = retryAfter
  if (rateLimits) headers['x-sentry-rate-limits'] = rateLimits
  return headers
}
