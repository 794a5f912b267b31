/** Reports that the lab raises on the server: told apart from real ones, and followed. */

import { type Client, type Event, getIsolationScope } from '@sentry/core'
import { processSingleton } from '../process-singleton.ts'
import { isOfLab, LAB_ENVIRONMENT } from './lab-environment.ts'

/** Stands in the message of each, in the browser too. */
const REFERENCE = /\(lab ([0-9a-f]{8})\)/

export type LabReport = { eventId: string; status?: number }

const KEPT = 200 // newest

const reports = () => processSingleton('lab reports', () => new Map<string, LabReport>())

/** Marks errors, traces and log lines of the lab as such, and keeps how each error that it raises was answered. */
export function followLab(client: Client): void {
  client.on('createDsc', (trace) => {
    if (isRequestOfLab(getIsolationScope().getScopeData())) trace.environment = LAB_ENVIRONMENT
  })
  client.on('postprocessEvent', (event) => {
    if (isRequestOfLab(event) || referenceIn(event)) event.environment = LAB_ENVIRONMENT
  })
  client.on('beforeCaptureLog', ({ attributes, message }) => {
    if (attributes && REFERENCE.test(message)) attributes['sentry.environment'] = LAB_ENVIRONMENT
  })
  client.on('afterSendEvent', (event, { statusCode }) => keep(event, statusCode))
}

/** How it was answered, for the page that raised it. */
export function findLabReport(reference: string): LabReport | undefined {
  return reports().get(reference)
}

function keep(event: Event, status: number | undefined): void {
  const reference = referenceIn(event)
  if (!reference || !event.event_id) return
  const kept = reports()
  kept.set(reference, { eventId: event.event_id, ...(status !== undefined && { status }) })
  for (const [oldest] of kept) if (kept.size > KEPT) kept.delete(oldest)
}

/** Whether it came of a request for a page or a route of the lab. */
function isRequestOfLab({ sdkProcessingMetadata }: Pick<Event, 'sdkProcessingMetadata'>): boolean {
  const { url = '' } = sdkProcessingMetadata?.normalizedRequest ?? {}
  return isOfLab(URL.parse(url)?.pathname ?? '')
}

function referenceIn({ exception }: Event): string | undefined {
  for (const { value } of exception?.values ?? []) {
    const reference = REFERENCE.exec(value ?? '')?.[1]
    if (reference) return reference
  }
  return undefined
}
