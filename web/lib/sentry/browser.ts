/** Browser's Sentry SDK: a small client, which is loaded after the first scripts, and further integrations after the page. */

import {
  applySdkMetadata,
  consoleIntegration,
  type Integration,
  initAndBind,
  propagationContextFromHeaders,
} from '@sentry/core'
import * as Sentry from '@sentry/react'
import { captureAt, replayError } from 'tunnel/early-errors/replay-error'
import { type BrowserSettings, isOwnRequest } from './browser-config.ts'
import { type EarlyReport, IGNORED_ERRORS, withoutHost } from './late-sdk/early-report.ts'
import { addConsoleLogs, addFeedback, addReplay, addTracing } from './lazy-integrations.ts'
import { DATA_COLLECTION, NO_LOGS_AND_METRICS, PRIVACY_TAG } from './privacy.ts'
import { observedFetch } from './response-events.ts'

export { captureException } from '@sentry/react'
export { onRouterTransitionStart } from './lazy-integrations.ts'

/** Starts the SDK, and reports the errors from before. `dropped` counts those that were not kept. */
export function startBrowserSdk(
  settings: BrowserSettings,
  early: readonly EarlyReport[],
  dropped: number,
): void {
  init(settings)
  continueTrace()
  for (const report of early) reportEarly(report)
  if (dropped > 0) Sentry.getClient()?.recordDroppedEvent('buffer_overflow', 'error', dropped)
  afterThePage(() => addIntegrations(settings))
}

function reportEarly(report: EarlyReport): void {
  if ('caught' in report) report.resolve(captureAt(report.time, () => Sentry.captureException(report.caught)))
  else replayError(report)
}

/**
 * Replaces `init`: that of `@sentry/nextjs` would add browser tracing and the Pages Router to the code of every page, that of
 * `@sentry/react` support for AI agents and browser extensions.
 */
function init(settings: BrowserSettings): void {
  const { dsn, tunnel, environment, release, tracesSampleRate, asksForPrivacy } = settings
  const { replaysOnErrorSampleRate, hasLogsAndMetrics } = settings
  const options: ConstructorParameters<typeof Sentry.BrowserClient>[0] = {
    dsn,
    tunnel,
    environment,
    release, // also when undefined: the SDK's guess is that of the build
    ...(tracesSampleRate !== undefined && { tracesSampleRate }),
    replaysOnErrorSampleRate,
    ...(!hasLogsAndMetrics && NO_LOGS_AND_METRICS),
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
}

/** Adds the integrations that the settings enable. Requests before that are not traced. */
function addIntegrations(settings: BrowserSettings): void {
  const { tracesSampleRate, replaysOnErrorSampleRate, hasLogsAndMetrics, feedback } = settings
  if (tracesSampleRate !== undefined) addTracing()
  if (replaysOnErrorSampleRate > 0) addReplay()
  if (hasLogsAndMetrics) addConsoleLogs()
  if (feedback) addFeedback()
}

function makeTransport(options: Parameters<typeof Sentry.makeFetchTransport>[0]) {
  return Sentry.makeFetchTransport(options, observedFetch)
}

/** Removes the host from the file names of frames. */
const hostlessFiles = (): Integration => ({
  name: 'HostlessFiles',
  processEvent(event) {
    const frames = event.exception?.values?.flatMap(({ stacktrace }) => stacktrace?.frames ?? []) ?? []
    for (const frame of frames) if (frame.filename) frame.filename = withoutHost(frame.filename)
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
