/** Sets the security headers of every document. */

import { type NextRequest, NextResponse } from 'next/server'
import { config as settings } from './lib/config.ts'
import { contentSecurityPolicy, DATA_POLICY, isData, transportSecurity } from './lib/security-headers.ts'

export function proxy(request: NextRequest): NextResponse {
  const nonce = crypto.randomUUID()
  const policy = contentSecurityPolicy(nonce, reachable(request.nextUrl.pathname))
  const headers = new Headers(request.headers)
  headers.set('content-security-policy', policy) // Next.js reads the nonce of its scripts from it
  const response = isOfNext(request)
    ? NextResponse.rewrite(new URL(NOWHERE, request.url), { request: { headers } })
    : NextResponse.next({ request: { headers } })
  const { pathname } = request.nextUrl
  response.headers.set('content-security-policy', isData(pathname) ? DATA_POLICY : policy)
  for (const [name, value] of transportSecurity(request.headers)) response.headers.set(name, value)
  return response
}

/** Path of the not-found page. */
const NOWHERE = '/_not-found'

/** Reports whether a request names an internal page of Next.js, on which the server would fail. */
function isOfNext({ nextUrl }: NextRequest): boolean {
  return nextUrl.pathname === '/_global-error'
}

/** Returns the origins that a page may reach: the connection check sends a request directly to Sentry, no other page does. */
function reachable(path: string): string[] {
  const { sentryOrigin } = settings()
  return path === '/' && sentryOrigin ? [sentryOrigin] : []
}

// Evaluated at build time. Static files get their headers from next.config.ts.
export const config = { matcher: '/((?!_next/static/|healthz$).*)' }
