/** Diagram of both routes of a report: directly to Sentry above, through this site below. */

import type { State } from '../../ui/states.ts'
import { STATE_TEXT } from '../../ui/status-badge.tsx'

type Props = { road: State; pipe: State; end: string }

const ROAD = 'M58 62C150 18 490 18 582 62'
const PIPE = 'M58 78c92 44 432 44 524 0'

/** Hidden from assistive technology: the list below has the same content as text. */
export function RoutesDiagram({ road, pipe, end }: Props) {
  return (
    <figure aria-hidden="true" className="select-none">
      <svg aria-hidden="true" viewBox="0 0 640 142" className="block aspect-[640/142] w-full" fill="none">
        <g strokeWidth="10" strokeLinecap="round" className="stroke-line">
          <path d={ROAD} />
          <path d={PIPE} />
        </g>
        <Lane state={road} path={ROAD} />
        <Lane state={pipe} path={PIPE} />
        <Sign state={road} x={320} y={29} />
        <circle cx="320" cy="111" r="24" className="fill-surface stroke-accent" strokeWidth="5" />
        <Sign state={pipe} x={320} y={111} />
        <g className="fill-surface stroke-ink" strokeWidth="3.5">
          <rect x="14" y="48" width="50" height="38" rx="6" />
          <path d="M14 59h50" />
          <circle cx="600" cy="70" r="24" />
        </g>
        <path d="m590 70 7 7 13-14" className="stroke-ink" strokeWidth="3.5" strokeLinecap="round" />
      </svg>
      <figcaption className="grid grid-cols-3 text-note text-quiet">
        <span>Your browser</span>
        <span className="text-center">This site</span>
        <span className="text-right">{end}</span>
      </figcaption>
    </figure>
  )
}

/** Dash lengths: a completed route is drawn in full, a failed one in part. */
const LENGTHS: Record<State, string> = {
  idle: '0 100',
  live: '100 0',
  busy: '3 7',
  good: '100 0',
  wait: '50 100',
  hold: '50 100',
  drop: '50 100',
  bad: '34 100',
}

function Lane({ state, path }: { state: State; path: string }) {
  return (
    <path
      d={path}
      pathLength="100"
      strokeWidth="4"
      strokeDasharray={LENGTHS[state]}
      stroke="currentColor"
      className={`${STATE_TEXT[state]} ${state === 'idle' ? 'hidden' : ''}`}
    />
  )
}

const SIGNS: Partial<Record<State, string>> = {
  good: 'm-8 .5 5 5L8-5',
  wait: 'M0-7V0l5 3',
  hold: 'M-4-7V7M4-7V7',
  bad: 'M-6-6 6 6M6-6-6 6',
}

function Sign({ state, x, y }: { state: State; x: number; y: number }) {
  const sign = SIGNS[state]
  if (!sign) return null
  return (
    <g transform={`translate(${x} ${y})`} className={STATE_TEXT[state]}>
      <circle r="17" className="fill-surface" stroke="currentColor" strokeWidth="2" />
      <path d={sign} stroke="currentColor" strokeWidth="3.5" strokeLinecap="round" strokeLinejoin="round" />
    </g>
  )
}
