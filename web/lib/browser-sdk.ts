/** The browser's Sentry SDK: how it is set up, and what of it comes only after the page. */

import * as Sentry from '@sentry/nextjs'
import type { BrowserSettings } from './browser-settings.ts'
import { heardFetch } from './heard.ts'
import { addFeedback, addReplay } from './late-integrations.ts'
import { PRIVACY_TAG } from './privacy.ts'
import { DATA_COLLECTION, signalOptions } from './reporting.ts'

export function startBrowserSdk(settings: BrowserSettings): void {
  const { dsn, tunnel, environment, release, sampleRate, tracesSampleRate, asksForPrivacy } = settings
  const { replays, feedback, logs, traceparent } = settings
  Sentry.init({
    dsn,
    tunnel,
    environment,
    release, // also when there is none: the build's own guess would be wrong for every other deployment
    sampleRate,
    ...(tracesSampleRate !== undefined && { tracesSampleRate }),
    replaysSessionSampleRate: replays.session,
    replaysOnErrorSampleRate: replays.onError,
    ...signalOptions(settings),
    propagateTraceparent: traceparent,
    ignoreSpans: IGNORED_SPANS,
    integrations: [
      Sentry.browserTracingIntegration({ beforeStartSpan: nameNotFound }),
      ...(logs ? [Sentry.consoleLoggingIntegration()] : []),
    ],
    ...(asksForPrivacy && { initialScope: { tags: PRIVACY_TAG } }),
    transport: makeTransport,
    dataCollection: DATA_COLLECTION,
  })
  afterThePage(() => {
    if (replays.session + replays.onError > 0) addReplay()
    if (feedback) addFeedback()
  })
}

function makeTransport(options: Parameters<typeof Sentry.makeFetchTransport>[0]) {
  return Sentry.makeFetchTransport(options, heardFetch)
}

/** By what the SDK itself drops a not-found page, in every version; the tunnel knows it too. */
const NOT_FOUND = '/404'

/** Of versions whose router started a span before it knew for what. */
const IGNORED_SPANS = [/^incomplete-app-router-transaction$/]

/** The App Router leaves a page that is not there under the address that was asked for. */
function nameNotFound<Span extends { name: string }>(span: Span): Span {
  return isNotFound() ? { ...span, name: NOT_FOUND } : span
}

function isNotFound(): boolean {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return navigation?.responseStatus === 404
}

/** When the page has all that it needs itself. */
function afterThePage(act: () => void): void {
  if (document.readyState === 'complete') act()
  else addEventListener('load', act, { once: true })
}
