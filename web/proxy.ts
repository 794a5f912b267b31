/** Sets the security headers of every document. */

import { type NextRequest, NextResponse } from 'next/server'
import { config as settings } from './lib/config.ts'
import {
  contentSecurityPolicy,
  DATA_POLICY,
  isData,
  isOfConsole,
  REPLAY_FRAME,
  replayFramePolicy,
  reportingHeaders,
  transportSecurity,
} from './lib/security-headers.ts'
import { asksForPrivacy } from './lib/sentry/privacy.ts'

export function proxy(request: NextRequest): NextResponse {
  const nonce = crypto.randomUUID()
  const policy = contentSecurityPolicy(nonce, {
    reachable: reachable(request.nextUrl.pathname),
    reportsUrl: reportsUrl(request.headers),
  })
  const headers = new Headers(request.headers)
  headers.set('content-security-policy', policy) // Next.js reads the nonce of its scripts from it
  const { pathname } = request.nextUrl
  const target = rewriteTarget(pathname)
  const response = target
    ? NextResponse.rewrite(new URL(target, request.url), { request: { headers } })
    : NextResponse.next({ request: { headers } })
  response.headers.set('content-security-policy', policyFor(pathname, nonce, policy))
  const reporting = reportingHeaders(request.headers, pathname, settings().reportsUrl)
  for (const [name, value] of [...transportSecurity(request.headers), ...reporting])
    response.headers.set(name, value)
  return response
}

function policyFor(path: string, nonce: string, policy: string): string {
  if (path === REPLAY_FRAME) return replayFramePolicy(nonce)
  return isData(path) ? DATA_POLICY : policy
}

/** Returns the URL for violations of the policy; `undefined` for visitors about whom nothing is reported. */
function reportsUrl(headers: Headers): string | undefined {
  const { privacySignal, reportsUrl: url } = settings()
  return privacySignal === 'off' && asksForPrivacy(headers.get('sec-gpc')) ? undefined : url
}

/** Path of the not-found page. */
const NOWHERE = '/_not-found'

/** Returns the page to show instead of the one that a path names. */
function rewriteTarget(path: string): string | undefined {
  if (path === '/_global-error') return NOWHERE // internal page of Next.js, on which the server would fail
  return path !== '/' && path === settings().checkPath ? '/' : undefined
}

/** Returns the origins that a page may reach: the connection check and reach tests send a request directly to Sentry. */
function reachable(path: string): string[] {
  const { checkPath, sentryOrigin, reachTestUrl } = settings()
  const isTested = reachTestUrl !== undefined && !isOfConsole(path)
  return (path === '/' || path === checkPath || isTested) && sentryOrigin ? [sentryOrigin] : []
}

// Evaluated at build time. Static files get their headers from next.config.ts.
export const config = { matcher: '/((?!console/_next/static/|healthz$).*)' }
