/** Browser tracing, in a file of its own for the bundler. */

import { getClient, isSentryRequestUrl } from '@sentry/core'
import { browserTracingIntegration, createUrlRouteProvider, setRouteProvider } from '@sentry/nextjs'
import { isOwnRequest } from './browser-config.ts'

export { captureRouterTransitionStart } from '@sentry/nextjs'

/** Traces this page and the following ones. */
export function tracePages() {
  // Without a provider, a page's span is called 'Pageload'. No traced page has a parameter in its path.
  setRouteProvider(createUrlRouteProvider(({ pathname }) => pathname))
  return browserTracingIntegration({
    beforeStartSpan: nameNotFound,
    // The connection check posts to Sentry and to the tunnel.
    shouldCreateSpanForRequest: (url) => !isOwnRequest(url) && !isSentryRequestUrl(url, getClient()),
  })
}

/** Name of the not-found page, by which SDKs of all versions and the tunnel drop its trace. */
const NOT_FOUND = '/404'

/** Renames the trace of a not-found page, for which the App Router keeps the requested address. */
function nameNotFound<Span extends { name: string }>(span: Span): Span {
  return isNotFound() ? { ...span, name: NOT_FOUND } : span
}

function isNotFound(): boolean {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return navigation?.responseStatus === 404
}
