/** The browser's Sentry SDK: what of it is there before the page, how that is set up, and what comes after. */

import {
  applySdkMetadata,
  consoleIntegration,
  type Integration,
  initAndBind,
  propagationContextFromHeaders,
} from '@sentry/core'
import * as Sentry from '@sentry/react'
import type { BrowserSettings } from './browser-config.ts'
import { addConsoleLogs, addFeedback, addReplay, addTracing } from './lazy-integrations.ts'
import { PRIVACY_TAG } from './privacy.ts'
import { heardFetch } from './response-events.ts'
import { DATA_COLLECTION, signalOptions } from './shared-options.ts'

/**
 * `init` of `@sentry/nextjs` would bring browser tracing and Next's other router into the first load of every page, and that of
 * `@sentry/react` what is for AI agents and browser extensions. This is the same client without them, and with what `@sentry/nextjs`
 * adds for errors. What a page asks for before it has loaded bears no trace.
 */
export function startBrowserSdk(settings: BrowserSettings): void {
  const { dsn, tunnel, environment, release, sampleRate, tracesSampleRate, asksForPrivacy } = settings
  const { replays, feedback, logs, traceparent } = settings
  const options: ConstructorParameters<typeof Sentry.BrowserClient>[0] = {
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
    ignoreErrors: IGNORED_ERRORS,
    ignoreSpans: IGNORED_SPANS,
    integrations: INTEGRATIONS.map((make) => make()),
    stackParser: Sentry.defaultStackParser,
    ...(asksForPrivacy && { initialScope: { tags: PRIVACY_TAG } }),
    transport: makeTransport,
    dataCollection: DATA_COLLECTION,
  }
  applySdkMetadata(options, 'nextjs', ['nextjs', 'react'])
  initAndBind(Sentry.BrowserClient, options)
  continueTrace()
  afterThePage(() => {
    if (tracesSampleRate !== undefined) addTracing()
    if (replays.session + replays.onError > 0) addReplay()
    if (logs) addConsoleLogs()
    if (feedback) addFeedback()
  })
}

function makeTransport(options: Parameters<typeof Sentry.makeFetchTransport>[0]) {
  return Sentry.makeFetchTransport(options, heardFetch)
}

/** One build is served from many hosts: the same error has the same files on each. */
const hostlessFiles = (): Integration => ({
  name: 'HostlessFiles',
  processEvent(event) {
    const frames = event.exception?.values?.flatMap(({ stacktrace }) => stacktrace?.frames ?? []) ?? []
    for (const frame of frames)
      if (frame.filename) frame.filename = frame.filename.replace(location.origin, 'app://')
    return event
  },
})

/**
 * What the SDK has of itself, in its order, and ours; but not what wraps every timer and listener, which tells more of errors in
 * scripts of other origins alone, and here are none.
 */
const INTEGRATIONS = [
  Sentry.eventFiltersIntegration,
  Sentry.breadcrumbsIntegration,
  consoleIntegration,
  Sentry.globalHandlersIntegration,
  Sentry.linkedErrorsIntegration,
  Sentry.dedupeIntegration,
  Sentry.httpContextIntegration,
  Sentry.cultureContextIntegration,
  Sentry.browserSessionIntegration,
  hostlessFiles,
]

/** By what Next leads elsewhere. */
const IGNORED_ERRORS = [/^NEXT_REDIRECT$/]

/** A page that is not there, and what routers of older versions began before they knew for what. */
const IGNORED_SPANS = [/^\/404$/, /^incomplete-app-router-transaction$/]

/** What fails before tracing is there belongs to the page's trace all the same, which the server has begun. */
function continueTrace(): void {
  const [trace, baggage] = ['sentry-trace', 'baggage'].map(
    (name) => document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content,
  )
  Sentry.getCurrentScope().setPropagationContext(propagationContextFromHeaders(trace, baggage))
}

/** When the page has all that it needs itself. */
function afterThePage(act: () => void): void {
  if (document.readyState === 'complete') act()
  else addEventListener('load', act, { once: true })
}
