/** Which errors of the server are told: those of this site's code, and not those that Next raises over a request that it cannot read. */

import { captureRequestError } from '@sentry/nextjs'
import type { Instrumentation } from 'next'

/**
 * Anyone can post what is no form and no call of an action, or send a garbled header of Next's router, to any page: each would cost
 * quota. So an action tells by itself what it throws.
 */
export const reportRequestError: Instrumentation.onRequestError = (error, request, context) => {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (context.routeType !== 'route' && !isRead) return
  if (error instanceof Error && error.message === UNREADABLE_ROUTER_STATE) return
  captureRequestError(error, request, context)
}

const UNREADABLE_ROUTER_STATE = 'The router state header was sent but could not be parsed.'
