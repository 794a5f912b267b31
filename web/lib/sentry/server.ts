/** Server's Sentry SDK, whose reports go through the tunnel. */

import { join } from 'node:path'
import { getDefaultIsolationScope } from '@sentry/core'
import * as Sentry from '@sentry/nextjs'
import type { Config } from '../config.ts'
import { mapFrames } from '../source-maps/source-frames.ts'
import { followLab } from './lab-reports.ts'
import {
  asksForPrivacy,
  DATA_COLLECTION,
  NO_LOGS_AND_METRICS,
  PRIVACY_TAG,
  type PrivacySignal,
} from './privacy.ts'
import { createSampler } from './sampling.ts'

/** Folder of the build; the server runs beside it. */
const BUILD_FOLDER = join(/* turbopackIgnore: true */ process.cwd(), '.next')

/** Reports in the send queue; the SDK's default of 64 is less than a burst of errors. */
const WAITING = 1024

export function startServerSdk({ browser, lab, privacySignal, serverTunnel }: Config): void {
  if (!serverTunnel) return
  const { dsn, environment, release, tracesSampleRate } = browser
  const client = Sentry.init({
    dsn,
    tunnel: serverTunnel,
    environment,
    release, // also when undefined: the SDK's guess is that of the build
    ...(tracesSampleRate !== undefined && {
      tracesSampler: createSampler(tracesSampleRate, privacySignal, () => performance.now()),
    }),
    beforeSend: (event) => honour(mapFrames(event, BUILD_FOLDER), privacySignal),
    beforeBreadcrumb: (breadcrumb) => (isInRequest() ? breadcrumb : null),
    ...NO_LOGS_AND_METRICS,
    traceLifecycle: 'static', // streamed spans are sent before a page is known to be not found
    ignoreSpans: IGNORED_SPANS,
    integrations: (usual) => [
      ...usual.filter(({ name }) => !REPLACED.includes(name)),
      Sentry.httpIntegration({ disableIncomingRequestSpans: true, sessions: false }),
      Sentry.nativeNodeFetchIntegration({ breadcrumbs: false }),
    ],
    transportOptions: { bufferSize: WAITING },
    dataCollection: DATA_COLLECTION,
  })
  if (lab && client) followLab(client)
}

/**
 * Default integrations that are left out or replaced. Browsers report sessions; a server would count health checks, too. `NodeFetch` adds
 * its breadcrumb in the async context of the request that opened the connection, which may be another visitor's. `Dedupe` drops an error that
 * equals the one before, although another request has failed.
 */
const REPLACED = ['Dedupe', 'Http', 'NodeFetch', 'ProcessSession']

/** Returns whether the code runs for a request. Each request's scope is a copy of the default one, so that must hold no breadcrumb. */
function isInRequest(): boolean {
  return Sentry.getIsolationScope() !== getDefaultIsolationScope()
}

/** The proxy, which would count each request twice. The sampler leaves out Culvert's own requests. */
const IGNORED_SPANS = [/^middleware /]

/** Applies the visitor's privacy signal to an error. */
function honour(event: Sentry.ErrorEvent, privacySignal: PrivacySignal): Sentry.ErrorEvent | null {
  const { headers } = event.sdkProcessingMetadata?.normalizedRequest ?? {}
  if (!asksForPrivacy(headers?.['sec-gpc'])) return event
  return privacySignal === 'off' ? null : { ...event, tags: { ...event.tags, ...PRIVACY_TAG } }
}

/** Resolves when all reports are sent, or after `ms`. */
export async function flushReports(ms: number): Promise<void> {
  await Sentry.flush(ms)
}
