/** Reports errors of this site's code, not those that Next.js throws for unreadable requests. */

import { captureRequestError } from '@sentry/nextjs'
import type { Instrumentation } from 'next'

/** Anyone can send unreadable forms and router headers to any page, and each report would cost quota. Server actions report their own errors. */
export const reportRequestError: Instrumentation.onRequestError = (error, request, context) => {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (context.routeType !== 'route' && !isRead) return
  if (error instanceof Error && error.message === UNREADABLE_ROUTER_STATE) return
  captureRequestError(error, request, context)
}

const UNREADABLE_ROUTER_STATE = 'The router state header was sent but could not be parsed.'
