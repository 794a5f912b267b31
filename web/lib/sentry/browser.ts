/** Browser's Sentry SDK: a small client for the first load, and further integrations after it. */

import {
  applySdkMetadata,
  consoleIntegration,
  type Integration,
  initAndBind,
  propagationContextFromHeaders,
} from '@sentry/core'
import * as Sentry from '@sentry/react'
import { ASSET_PREFIX } from '../asset-prefix.ts'
import { type BrowserSettings, isOwnRequest } from './browser-config.ts'
import { addConsoleLogs, addFeedback, addReplay, addTracing } from './lazy-integrations.ts'
import { PRIVACY_TAG } from './privacy.ts'
import { observedFetch } from './response-events.ts'
import { DATA_COLLECTION, signalOptions } from './shared-options.ts'

/**
 * Replaces `init`: that of `@sentry/nextjs` would add browser tracing and the Pages Router to the first load of every page, that of
 * `@sentry/react` support for AI agents and browser extensions. Requests before the page has loaded are not traced.
 */
export function startBrowserSdk(settings: BrowserSettings): void {
  const { dsn, tunnel, environment, release, sampleRate, tracesSampleRate, asksForPrivacy } = settings
  const { replays, feedback, logs, traceparent } = settings
  const options: ConstructorParameters<typeof Sentry.BrowserClient>[0] = {
    dsn,
    tunnel,
    environment,
    release, // also when undefined: the SDK's guess is that of the build
    sampleRate,
    ...(tracesSampleRate !== undefined && { tracesSampleRate }),
    replaysSessionSampleRate: replays.session,
    replaysOnErrorSampleRate: replays.onError,
    ...signalOptions(settings),
    propagateTraceparent: traceparent,
    ignoreErrors: IGNORED_ERRORS,
    ignoreSpans: IGNORED_SPANS,
    beforeBreadcrumb: (breadcrumb) => (isOwnRequest(String(breadcrumb.data?.url ?? '')) ? null : breadcrumb),
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
  return Sentry.makeFetchTransport(options, observedFetch)
}

/** Removes host and asset prefix from file names, since one build is served from many hosts. */
const hostlessFiles = (): Integration => ({
  name: 'HostlessFiles',
  processEvent(event) {
    const frames = event.exception?.values?.flatMap(({ stacktrace }) => stacktrace?.frames ?? []) ?? []
    for (const frame of frames)
      if (frame.filename)
        frame.filename = frame.filename
          .replace(location.origin, 'app://')
          .replace(`app://${ASSET_PREFIX}/_next/`, 'app:///_next/') // as the SDK for Next.js names it
    return event
  },
})

/** Default integrations of the SDK without the one that wraps timers and listeners, which helps only with scripts of other origins. */
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

/** Errors by which Next.js redirects. */
const IGNORED_ERRORS = [/^NEXT_REDIRECT$/]

/** The not-found page, and unfinished transactions of older routers. */
const IGNORED_SPANS = [/^\/404$/, /^incomplete-app-router-transaction$/]

/** Continues the trace that the server has begun, for errors before tracing is loaded. */
function continueTrace(): void {
  const [trace, baggage] = ['sentry-trace', 'baggage'].map(
    (name) => document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content,
  )
  Sentry.getCurrentScope().setPropagationContext(propagationContextFromHeaders(trace, baggage))
}

/** Calls `act` after the page has loaded. */
function afterThePage(act: () => void): void {
  if (document.readyState === 'complete') act()
  else addEventListener('load', act, { once: true })
}
