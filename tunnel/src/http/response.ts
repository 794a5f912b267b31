/** The answer to a post: a status, a body, and the few headers that go along. */

import { isAscii } from 'node:buffer'
import type { Reply } from '../upstream/request.ts'
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

/** As it came. As a text where each character is one byte: Node writes that in one piece with the head. */
export function bodyOf({ body }: Reply): BodyInit {
  return isAscii(body) ? body.toString('latin1') : body
}

/** Of Sentry's headers these three, and nothing else. */
export function replyHeaders({ contentType, retryAfter, rateLimits }: Reply): Record<string, string> {
  const headers: Record<string, string> = {}
  if (contentType) headers['content-type'] = contentType
  if (retryAfter) headers['retry-after'] = retryAfter
  if (rateLimits) headers['x-sentry-rate-limits'] = rateLimits
  return headers
}
