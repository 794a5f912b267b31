/** What traces a visit, in a file of its own for the bundler. */

import { browserTracingIntegration } from '@sentry/nextjs'

export { captureRouterTransitionStart } from '@sentry/nextjs'

/** Traces this page from its start on, and each that follows. */
export function tracePages() {
  return browserTracingIntegration({ beforeStartSpan: nameNotFound })
}

/** By what the SDK drops a not-found page, in every version; the tunnel knows it too. */
const NOT_FOUND = '/404'

/** The App Router leaves a page that is not there under the address that was asked for. */
function nameNotFound<Span extends { name: string }>(span: Span): Span {
  return isNotFound() ? { ...span, name: NOT_FOUND } : span
}

function isNotFound(): boolean {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return navigation?.responseStatus === 404
}
