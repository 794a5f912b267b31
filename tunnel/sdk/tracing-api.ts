/** Functions of `window.Sentry` in the bundle `tracing`. */

export {
  browserTracingIntegration,
  getActiveSpan,
  getRootSpan,
  getSpanDescendants,
  reportPageLoaded,
  setHttpStatus,
  setMeasurement,
  spanToBaggageHeader,
  spanToJSON,
  spanToTraceHeader,
  startBrowserTracingNavigationSpan,
  startBrowserTracingPageLoadSpan,
  startInactiveSpan,
  startNewTrace,
  startSpan,
  startSpanManual,
  updateSpanName,
  withActiveSpan,
} from '@sentry/browser'
export * from './api.ts'
