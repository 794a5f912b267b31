/** The last incidents, folded: an operator looks at them after an alert, or to report what a visitor may have noticed. */
'use client'

import { describeIncident } from 'contract/situation/incidents'
import type { Incident } from 'contract/situation/situation'
import { formatCount } from '../../../lib/format.ts'
import { useClock } from './reader-clock.ts'

export function Incidents({ incidents, time }: { incidents: Incident[]; time: number }) {
  const { format } = useClock(time)
  if (incidents.length === 0) return null
  return (
    <details className="panel mt-0">
      <summary className="min-h-6 font-semibold">
        Incidents <span className="text-note font-normal text-quiet">{formatCount(incidents.length)}</span>
      </summary>
      <ol aria-label="Incidents, newest first" className="mt-3 grid gap-1.5 text-note">
        {incidents.map((incident) => (
          <li key={`${incident.since} ${incident.kinds}`} className="wrap-anywhere">
            {describeIncident(incident, format)}
          </li>
        ))}
      </ol>
    </details>
  )
}
