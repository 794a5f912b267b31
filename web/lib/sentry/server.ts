/** The server's Sentry SDK: its reports go through the same tunnel as everyone's. */

import { getDefaultIsolationScope } from '@sentry/core'
import * as Sentry from '@sentry/nextjs'
import type { Config } from '../config.ts'
import { followLab } from './lab-reports.ts'
import { asksForPrivacy, PRIVACY_TAG, type PrivacySignal } from './privacy.ts'
import { createSampler } from './sampling.ts'
import { DATA_COLLECTION, signalOptions } from './shared-options.ts'

/** Reports that may wait to be sent; the SDK's own 64 are fewer than a burst of errors. */
const WAITING = 1024

export function startServerSdk({ browser, lab, privacySignal, serverTunnel }: Config): void {
  if (!serverTunnel) return
  const { dsn, environment, release, sampleRate, tracesSampleRate, logs, traceparent } = browser
  const client = Sentry.init({
    dsn,
    tunnel: serverTunnel,
    environment,
    release, // also when there is none: the SDK would take that of the build
    sampleRate,
    ...(tracesSampleRate !== undefined && {
      tracesSampler: createSampler(tracesSampleRate, privacySignal, () => performance.now()),
    }),
    beforeSend: (event) => honour(event, privacySignal),
    beforeBreadcrumb: (breadcrumb) => (isInRequest() ? breadcrumb : null),
    ...signalOptions(browser),
    traceLifecycle: 'static', // streamed spans go before it is known that theirs was a not-found page
    propagateTraceparent: traceparent,
    ignoreSpans: IGNORED_SPANS,
    integrations: (usual) => [
      ...usual.filter(({ name }) => !REPLACED.includes(name)),
      Sentry.httpIntegration({ disableIncomingRequestSpans: true, sessions: false }),
      Sentry.nativeNodeFetchIntegration({ breadcrumbs: false }),
      ...(logs ? [Sentry.consoleLoggingIntegration()] : []),
    ],
    transportOptions: { bufferSize: WAITING },
    dataCollection: DATA_COLLECTION,
  })
  if (lab && client) followLab(client)
}

/**
 * Integrations that are left out, or set up differently.
 * Sessions belong to visitors, and their browsers report them: a server would count health checks, and an error that it survived as a crash.
 * `NodeFetch` adds its breadcrumb when the response arrives, in the async context of the request that opened the connection: on a reused
 * connection that is another visitor's request.
 */
const REPLACED = ['Http', 'NodeFetch', 'ProcessSession']

/** Returns whether the code runs for a request. Each request's scope is a copy of the default one, so that must hold no breadcrumb. */
function isInRequest(): boolean {
  return Sentry.getIsolationScope() !== getDefaultIsolationScope()
}

/** Of whoever watches us, operators at the console among them, of what every page fetches, and of what runs before each of them, which would count each twice. */
const IGNORED_SPANS = [
  /^GET \/(healthz|favicon\.ico|icon\.svg|settings\.json|receipt\.json)$/, // the last has a secret in its query
  /^\w+ \/console(\/|$)/,
  /^middleware /,
]

/** What goes of an error that came of a visitor's request. */
function honour(event: Sentry.ErrorEvent, privacySignal: PrivacySignal): Sentry.ErrorEvent | null {
  const { headers } = event.sdkProcessingMetadata?.normalizedRequest ?? {}
  if (!asksForPrivacy(headers?.['sec-gpc'])) return event
  return privacySignal === 'off' ? null : { ...event, tags: { ...event.tags, ...PRIVACY_TAG } }
}

/** Resolves when what was reported is sent, after `ms` at the latest. */
export async function flushReports(ms: number): Promise<void> {
  await Sentry.flush(ms)
}
