/** The reports raised in this tab, and what became of each. */

import { type Event, getClient } from '@sentry/nextjs'
import { useEffect, useReducer } from 'react'

export type Report = {
  /** The event's id, as Sentry will know it. */
  id: string
  what: string
  /** `sending` until it is answered, then the status; `unanswered` when there was none. */
  outcome: 'sending' | 'unanswered' | number
}

const KEPT = 20 // newest; the page must not grow with an error storm

export function useReports(): Report[] {
  const [reports, tell] = useReducer(replaceOrAdd, [])
  useEffect(() => {
    const client = getClient()
    const ends = [
      client?.on('beforeSendEvent', (event) => tell(report(event, 'sending'))),
      client?.on('afterSendEvent', (event, { statusCode }) =>
        tell(report(event, statusCode ?? 'unanswered')),
      ),
    ]
    return () => {
      for (const end of ends) end?.()
    }
  }, [])
  return reports
}

function report(event: Event, outcome: Report['outcome']): Report | undefined {
  if (event.type || !event.event_id) return undefined // spans, replays and feedback are no errors
  return { id: event.event_id, what: describe(event), outcome }
}

function describe(event: Event): string {
  const [exception] = event.exception?.values ?? []
  return exception ? `${exception.type}: ${exception.value}` : (event.message ?? 'Message')
}

function replaceOrAdd(reports: Report[], told: Report | undefined): Report[] {
  if (!told) return reports
  const known = reports.some(({ id }) => id === told.id)
  return known ? reports.map((old) => (old.id === told.id ? told : old)) : [told, ...reports].slice(0, KEPT)
}
