/** Status banner: losses, and the action that is needed. The tab's title and icon show the state, too. Below: the last incidents. */
'use client'

import {
  type Clock,
  describeDisconnection,
  describeSituation,
  findRunbookEntry,
  STATE_WORDS,
  utcClock,
  type VerdictState,
} from 'contract/situation/describe'
import { describeIncident } from 'contract/situation/incidents'
import { sumLosses } from 'contract/situation/losses'
import type { Incident } from 'contract/situation/situation'
import { useEffect } from 'react'
import { useNow } from '../../../lib/browser-state.ts'
import { formatCount, formatWhen } from '../../../lib/format.ts'
import { Fold } from '../../../ui/panel.tsx'
import type { State } from '../../../ui/states.ts'
import { Badge } from '../../../ui/status-badge.tsx'
import { WEEK } from '../figures/range.ts'
import type { StreamState } from '../live-data.tsx'
import type { OverviewSnapshot } from '../monitor/snapshot.ts'
import { DOCS } from '../routes.ts'
import { linkTo } from './results.ts'

const STATES: Record<VerdictState, State> = {
  ...{ ok: 'good', degraded: 'hold', outage: 'bad', unknown: 'idle' },
}

/** Edge of the panel. */
const EDGES: Record<VerdictState, string> = {
  ok: 'border-l-good',
  degraded: 'border-l-hold',
  outage: 'border-l-bad',
  unknown: 'border-l-quiet',
}

export function StatusBanner({ overview, stream }: { overview: OverviewSnapshot; stream: StreamState }) {
  const clock = useClock(overview.time)
  const { situation, damagedFiles } = overview
  const { state, text, incident, others } =
    stream === 'broken'
      ? describeDisconnection(situation, clock, overview.time)
      : describeSituation(situation, clock)
  const { week } = situation
  const entry = stream === 'broken' ? undefined : findRunbookEntry(situation)
  const lost = week.losses && sumLosses(week.losses)
  useTab(state)
  return (
    <section
      aria-label="Status"
      className={`panel mt-0 flex flex-wrap items-center justify-between gap-x-8 gap-y-3 border-l-4 ${EDGES[state]}`}
    >
      <div className="grid min-w-0 flex-1 basis-80 justify-items-start gap-2">
        <span role="status">
          <Badge state={STATES[state]}>{STATE_WORDS[state]}</Badge>
        </span>
        <p className="max-w-prose text-lead wrap-anywhere">{keepTogether(text)}</p>
        {incident !== undefined && <p className="text-note text-quiet wrap-anywhere">{incident}</p>}
        {others.length > 0 && (
          <ul aria-label="Further problems" className="grid gap-1 text-note text-quiet">
            {others.map((other) => (
              <li key={other} className="wrap-anywhere">
                {other}
              </li>
            ))}
          </ul>
        )}
        {entry && (
          <a href={`${DOCS}/runbook#${entry.toLowerCase()}`} className="link-block -my-1">
            Runbook: {entry}
          </a>
        )}
      </div>
      <a
        href={linkTo(week.losses)}
        className="flex flex-wrap items-baseline gap-x-2 rounded-part text-ink no-underline hover:text-accent wide:grid wide:justify-items-center wide:px-2"
      >
        <span className="text-note text-quiet">Lost</span>
        <strong className={`text-hero font-semibold tabular-nums ${lost ? 'text-bad' : ''}`}>
          {lost === undefined ? 'unknown' : formatCount(lost)}
        </strong>
        <span className="text-note text-quiet">
          {damagedFiles > 0
            ? 'and those in a damaged file'
            : `in the last ${WEEK.words}${week.missing === undefined ? '' : ', incomplete'}`}
        </span>
      </a>
    </section>
  )
}

/** Keeps a count and its word on one line. */
function keepTogether(text: string): string {
  return text.replace(/(?<=\d) (?=pending)/g, '\u00a0')
}

const STATED = new RegExp(`^(?:${Object.values(STATE_WORDS).join('|')}) · `)

/** Shows the state in the title and the icon of the tab. Next.js sets both after the first render, so every render sets them again. */
function useTab(state: VerdictState): void {
  useEffect(() => {
    const title = `${STATE_WORDS[state]} · ${document.title.replace(STATED, '')}`
    if (document.title !== title) document.title = title
    for (const icon of document.querySelectorAll<HTMLLinkElement>('link[rel~="icon"]'))
      if (icon.href !== ICONS[state]) icon.href = ICONS[state]
  })
}

/** The mark of the site with a sign for each state, which differ in shape and colour. An icon follows no colour scheme. */
const ICONS: Record<VerdictState, string> = {
  ok: iconWith('#0b6650', '<circle cx="16" cy="20.5" r="4.5"/>'),
  degraded: iconWith('#9a5f00', '<path d="M12 17v8m8-8v8"/>'),
  outage: iconWith('#b3261e', '<path d="m12 17 8 8m0-8-8 8"/>'),
  unknown: iconWith('#5f6b67', '<path d="M12 21h8"/>'),
}

function iconWith(ground: string, sign: string): string {
  const lines = `<g fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"><path d="M5 12h22"/>${sign}</g>`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="${ground}"/>${lines}</svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}

/** The last incidents, for an operator after an alert, or for a report to visitors. */
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

/** Returns the reader's clock. The server does not know their time zone, and uses UTC. `time` is now by its clock. */
function useClock(time: number): Clock {
  const now = useNow()
  if (now !== undefined) return { now, format: (each) => formatWhen(each, now) }
  return utcClock(time)
}
