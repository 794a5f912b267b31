/** Whether a post comes from a page of this site. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Stage } from '../pipeline.ts'
import { Rejection } from '../rejections.ts'

/** The answer of `checkOrigin`: ours needs no word to the browser, an allowed foreign one needs CORS. */
export type Sender = { foreign: string | undefined }

const OURS: Sender = { foreign: undefined }

/** Rejects requests of pages of other sites. */
export function checkOriginStage(allowed: ReadonlySet<string>): Stage {
  return function checkOriginOf(ctx) {
    ctx.foreignOrigin = checkOrigin(ctx.incoming.headers, allowed).foreign
    return undefined
  }
}

/**
 * A post is ours when the browser says same-origin; or it says nothing and the Origin's host and port are the Host's (the scheme is
 * nginx's affair); or neither is there, as with servers. Everything else, `null` included, needs to stand in `ALLOWED_ORIGINS`.
 */
export function checkOrigin(headers: IncomingHttpHeaders, allowed: ReadonlySet<string>): Sender {
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return OURS
  if (site === undefined && (origin === undefined || authority(origin) === host?.toLowerCase())) return OURS
  if (origin !== undefined && allowed.has(origin)) return { foreign: origin }
  throw new Rejection(
    'origin-foreign',
    `Its origin is ${origin === undefined ? 'not told' : describe(origin)}.`,
  )
}

function authority(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase()
}

/** An origin names no visitor, but it is the sender's text: cut it. */
function describe(origin: string): string {
  return origin.slice(0, 200)
}

/** What Relay tells a foreign page (relay-server/src/middlewares/cors.rs), for this one origin. */
export function corsHeaders({ foreign }: Sender): Record<string, string> {
  if (foreign === undefined) return {}
  return {
    'access-control-allow-origin': foreign,
    'access-control-expose-headers': 'x-sentry-error, x-sentry-rate-limits, retry-after',
    vary: 'origin',
  }
}

/** What Relay answers to a preflight, beside `corsHeaders`. */
export const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers':
    'x-sentry-auth, x-requested-with, x-forwarded-for, origin, referer, accept, content-type, authentication, authorization, content-encoding, transfer-encoding',
  'access-control-max-age': '3600',
}
