/** Stand-ins for the functions of the bundle `tracing`, with which code of a page runs in the bundle `errors`. */

import { getCurrentScope } from '@sentry/browser'
import type { Integration, Span } from '@sentry/core'

export { spanToBaggageHeader, spanToJSON, spanToTraceHeader } from '@sentry/browser'

/** Span that is never sent. */
const span: Span = {
  spanContext: () => ({
    traceId: getCurrentScope().getPropagationContext().traceId,
    spanId: '0000000000000000',
    traceFlags: 0,
  }),
  end: () => {},
  setAttribute: () => span,
  setAttributes: () => span,
  setStatus: () => span,
  updateName: () => span,
  isRecording: () => false,
  addEvent: () => span,
  addLink: () => span,
  addLinks: () => span,
  recordException: () => {},
}

let hasWarned = false

export function browserTracingIntegration(): Integration {
  if (!hasWarned)
    console.warn(
      'Culvert: this page has no tracing. Set data-traces-sample-rate on the script element of sdk.js, or SENTRY_TRACES_SAMPLE_RATE.',
    )
  hasWarned = true
  return { name: 'BrowserTracing' }
}

export const startSpan = <T>(_: unknown, callback: (span: Span) => T): T => callback(span)
export const startSpanManual = <T>(_: unknown, callback: (span: Span, finish: () => void) => T): T =>
  callback(span, () => {})
export const startInactiveSpan = (): Span => span
export const startNewTrace = <T>(callback: () => T): T => callback()
export const withActiveSpan = <T>(_: unknown, callback: (scope: unknown) => T): T =>
  callback(getCurrentScope())
export const getActiveSpan = (): undefined => {}
export const getRootSpan = (of: Span): Span => of
export const getSpanDescendants = (): Span[] => []

const nothing = (): undefined => {}

export {
  nothing as reportPageLoaded,
  nothing as setHttpStatus,
  nothing as setMeasurement,
  nothing as startBrowserTracingNavigationSpan,
  nothing as startBrowserTracingPageLoadSpan,
  nothing as updateSpanName,
}
