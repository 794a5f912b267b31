/** Reports that the lab raises on the server: told apart from real ones, and followed. */

import { held } from './held.ts'

/** Stands in the message of each, in the browser too. */
const REFERENCE = /\(lab ([0-9a-f]{8})\)/

export type LabReport = { eventId: string; status?: number }

type LabEvent = { event_id?: string; environment?: string; exception?: { values?: { value?: string }[] } }

const KEPT = 200 // newest

const reports = () => held('lab reports', () => new Map<string, LabReport>())

/** Marks an event of the lab as such. */
export function markLabEvent<Event extends LabEvent>(event: Event): Event {
  return referenceIn(event) ? { ...event, environment: 'lab' } : event
}

/** Marks a trace that begins with a page or a route of the lab, for all that is to come of it. */
export function markLabTrace(trace: { environment?: string }, url: string | undefined): void {
  if (url && /^\/lab(\/|$)/.test(URL.parse(url)?.pathname ?? '')) trace.environment = 'lab'
}

/** Keeps how it was answered, for the page that raised it. */
export function followLabEvent(event: LabEvent, status: number | undefined): void {
  const reference = referenceIn(event)
  if (!reference || !event.event_id) return
  const kept = reports()
  kept.set(reference, { eventId: event.event_id, ...(status !== undefined && { status }) })
  for (const [oldest] of kept) if (kept.size > KEPT) kept.delete(oldest)
}

export function findLabReport(reference: string): LabReport | undefined {
  return reports().get(reference)
}

function referenceIn({ exception }: LabEvent): string | undefined {
  for (const { value } of exception?.values ?? []) {
    const reference = REFERENCE.exec(value ?? '')?.[1]
    if (reference) return reference
  }
  return undefined
}
