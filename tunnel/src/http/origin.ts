/** Origin check and CORS headers. */

import type { IncomingHttpHeaders } from 'node:http'
import { isOfHost, type OriginSet, parseWebOrigin } from 'contract/origins'
import { Rejection } from 'contract/rejections'
import { OUTCOME_HEADER, type Stage } from '../pipeline/pipeline.ts'

const ORIGIN = /^[a-z][a-z\d+.-]{0,40}:\/\/[^/]{0,200}$/i

/** Rejects requests of pages of other sites. The receipt has the origin of the others. */
export function checkOriginStage(allowed: OriginSet): Stage<'incoming', 'foreignOrigin' | 'receipt'> {
  return function checkOriginOf(ctx) {
    const { headers } = ctx.incoming
    ctx.foreignOrigin = checkOrigin(headers, allowed)
    if (headers.origin !== undefined && ORIGIN.test(headers.origin)) ctx.receipt.origin = headers.origin
    return undefined
  }
}

/**
 * Returns the origin of an allowed request from another site, which needs CORS headers, and `undefined` for a same-origin request. That is
 * one with `Sec-Fetch-Site: same-origin`, or without that header and with an Origin of the same host and port as Host, or without both.
 * Throws a `Rejection` for other origins, `null` included, that are not in `ALLOWED_ORIGINS`.
 */
export function checkOrigin(headers: IncomingHttpHeaders, allowed: OriginSet): string | undefined {
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return undefined
  const isSame = origin === undefined || isOwn(parseWebOrigin(origin), host)
  if (site === undefined && isSame) return undefined
  if (origin !== undefined && allowed.has(origin)) return origin
  throw new Rejection(
    'origin-foreign',
    origin === undefined ? 'The request has no Origin header.' : `Its origin is ${origin.slice(0, 200)}.`,
  )
}

function isOwn(origin: URL | undefined, host: string | undefined): boolean {
  return origin !== undefined && isOfHost(origin, host)
}

/** Builds Relay's CORS headers (relay-server/src/middlewares/cors.rs) for an allowed origin; none for `undefined`. */
export function corsHeaders(origin: string | undefined): Record<string, string> {
  if (origin === undefined) return {}
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': `x-sentry-error, x-sentry-rate-limits, retry-after, ${OUTCOME_HEADER}`,
    vary: 'origin',
  }
}

/** Relay's headers for a preflight response, in addition to `corsHeaders`. */
export const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers':
    'x-sentry-auth, x-requested-with, x-forwarded-for, origin, referer, accept, content-type, authentication, authorization, content-encoding, transfer-encoding',
  'access-control-max-age': '3600',
}
