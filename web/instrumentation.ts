/** Start and error hooks of Next.js. */

import { captureRequestError } from '@sentry/nextjs'
import type { Instrumentation } from 'next'

export async function register(): Promise<void> {
  // Next.js also compiles this for the edge runtime, which must not contain the import.
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  const { start } = await import('./startup.ts')
  start()
}

/**
 * Reports errors of this site's code, not those that Next.js throws for unreadable requests: anyone can send unreadable forms and router
 * headers to any page, and each report would cost quota. Server actions report their own errors.
 */
export const onRequestError: Instrumentation.onRequestError = (error, request, context) => {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (context.routeType !== 'route' && !isRead) return
  if (error instanceof Error && error.message === UNREADABLE_ROUTER_STATE) return
  captureRequestError(error, request, context)
}

const UNREADABLE_ROUTER_STATE = 'The router state header was sent but could not be parsed.'
