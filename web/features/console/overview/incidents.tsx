/** The last incidents, for an operator after an alert, or for a report to visitors. */
'use client'

import { describeIncident } from 'contract/situation/incidents'
import type { Incident } from 'contract/situation/situation'
import { formatCount } from '../../../lib/format.ts'
import { Fold } from '../../../ui/panel.tsx'
import { useClock } from './reader-clock.ts'

export function Incidents({ incidents, time }: { incidents: Incident[]; time: number }) {
  const { format } = useClock(time)
  if (incidents.length === 0) return null
  return (
    <Fold title="Incidents" note={formatCount(incidents.length)}>
      <ol aria-label="Incidents, newest first" className="grid gap-1.5 text-note">
        {incidents.map((incident) => (
          <li key={`${incident.since} ${incident.kinds}`} className="wrap-anywhere">
            {describeIncident(incident, format)}
          </li>
        ))}
      </ol>
    </Fold>
  )
}
