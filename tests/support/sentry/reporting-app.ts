/** App with `@sentry/node` that serves a page, a health check and the not-found page in one trace, and exits. */

import * as Sentry from '@sentry/node'

const { DSN = '', TUNNEL = '', TRACE_LIFECYCLE } = process.env

Sentry.init({
  dsn: DSN,
  tunnel: TUNNEL,
  release: 'shop@1.0.0',
  tracesSampleRate: 1,
  traceLifecycle: TRACE_LIFECYCLE === 'static' ? 'static' : 'stream',
})

/** Serves a request. The router names the segment of a known page, as that of Next.js does. */
function serve(name: string): void {
  Sentry.startSpan({ name: 'GET', op: 'http.server', forceTransaction: true }, (span) => {
    Sentry.startSpan({ name: 'query' }, () => undefined)
    Sentry.updateSpanName(span, name)
    Sentry.startSpan({ name: `render of ${name}` }, () => undefined)
  })
}

Sentry.startNewTrace(() => {
  for (const name of ['GET /shop', 'GET /_not-found', 'GET /healthz']) serve(name)
})
Sentry.captureException(new Error('NEXT_HTTP_ERROR_FALLBACK;404'))
Sentry.captureException(new Error('The basket is empty'))
await Sentry.close(10_000)
