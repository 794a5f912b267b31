/** Marks the lab's reports of the server, and keeps their outcomes. */

import { type Client, type Event, getIsolationScope } from '@sentry/core'
import { processSingleton } from '../process-singleton.ts'
import { isLabPath, LAB_ENVIRONMENT } from './browser-config.ts'

/** Reference in the message of each error. */
const REFERENCE = /\(lab ([0-9a-f]{8})\)/

export type LabReport = { eventId: string; status?: number }

const MAX_REPORTS = 200

const reports = () => processSingleton('lab reports', () => new Map<string, LabReport>())

/** Marks errors, traces and log lines of the lab, and keeps the response to each error. */
export function followLab(client: Client): void {
  client.on('createDsc', (trace) => {
    if (isLabRequest(getIsolationScope().getScopeData())) trace.environment = LAB_ENVIRONMENT
  })
  client.on('postprocessEvent', (event) => {
    if (isLabRequest(event) || referenceIn(event)) event.environment = LAB_ENVIRONMENT
  })
  client.on('beforeCaptureLog', ({ attributes, message }) => {
    if (attributes && REFERENCE.test(message)) attributes['sentry.environment'] = LAB_ENVIRONMENT
  })
  client.on('afterSendEvent', (event, { statusCode }) => keep(event, statusCode))
}

/** Returns the outcome of an error. */
export function findLabReport(reference: string): LabReport | undefined {
  return reports().get(reference)
}

function keep(event: Event, status: number | undefined): void {
  const reference = referenceIn(event)
  if (!reference || !event.event_id) return
  const known = reports()
  known.set(reference, { eventId: event.event_id, ...(status !== undefined && { status }) })
  for (const [oldest] of known) if (known.size > MAX_REPORTS) known.delete(oldest)
}

function isLabRequest({ sdkProcessingMetadata }: Pick<Event, 'sdkProcessingMetadata'>): boolean {
  const { url = '' } = sdkProcessingMetadata?.normalizedRequest ?? {}
  return isLabPath(URL.parse(url)?.pathname ?? '')
}

function referenceIn({ exception }: Event): string | undefined {
  for (const { value } of exception?.values ?? []) {
    const reference = REFERENCE.exec(value ?? '')?.[1]
    if (reference) return reference
  }
  return undefined
}
