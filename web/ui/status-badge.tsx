/** States as a shape and a colour. A word is always beside them, since not everybody sees colours. */

import type { ReactNode } from 'react'
import { OUTCOME_STATES, type OutcomeName, outcomeLabel, type State } from './states.ts'

export const STATE_TEXT: Record<State, string> = {
  idle: 'text-quiet',
  live: 'text-quiet',
  busy: 'text-quiet',
  good: 'text-good',
  wait: 'text-wait',
  hold: 'text-hold',
  drop: 'text-drop',
  bad: 'text-bad',
}

const SHAPES: Record<State, ReactNode> = {
  idle: <circle cx="8" cy="8" r="5.5" strokeDasharray="2 2.6" />,
  live: (
    <>
      <circle cx="8" cy="8" r="6" strokeWidth="1.5" />
      <circle cx="8" cy="8" r="3" fill="currentColor" stroke="none" />
    </>
  ),
  busy: <path d="M8 2.5A5.5 5.5 0 1 1 2.5 8" />,
  good: <path d="m3 8.5 3.2 3.2L13 4.8" />,
  wait: <path d="M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11Zm0 2.6V8l2 1.4" />,
  hold: <path d="M5.5 3.5v9m5-9v9" />,
  drop: <path d="M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11ZM4.3 11.7l7.4-7.4" />,
  bad: <path d="m4 4 8 8m0-8-8 8" />,
}

export function StateMark({ state, className = 'size-4' }: { state: State; className?: string }) {
  return (
    <svg
      viewBox="0 0 16 16"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      strokeLinejoin="round"
      className={`${className} shrink-0 ${STATE_TEXT[state]} ${state === 'busy' ? 'motion-safe:animate-spin' : ''}`}
    >
      {SHAPES[state]}
    </svg>
  )
}

const BADGES: Record<State, string> = {
  idle: 'border-quiet/40',
  live: 'border-quiet/40',
  busy: 'border-quiet/40',
  good: 'border-good/40 bg-good/8',
  wait: 'border-wait/40 bg-wait/8',
  hold: 'border-hold/40 bg-hold/8',
  drop: 'border-drop/40 bg-drop/8',
  bad: 'border-bad/40 bg-bad/8',
}

/** Word with the shape and colour of a state. */
export function Badge({ state, children }: { state: State; children: ReactNode }) {
  return (
    <span
      className={`inline-flex items-center gap-1.5 rounded-full border px-2.5 py-0.5 text-note font-semibold whitespace-nowrap ${BADGES[state]} ${STATE_TEXT[state]}`}
    >
      <StateMark state={state} className="size-3.5" />
      {children}
    </span>
  )
}

/** Badge beside a heading. */
export function OutcomeBadge({ outcome }: { outcome: OutcomeName }) {
  return <Badge state={OUTCOME_STATES[outcome]}>{outcomeLabel(outcome)}</Badge>
}

type LabelProps = {
  outcome: OutcomeName
  /** Default: the name of the outcome. */
  label?: string
  /** Number of envelopes. Without any, the outcome has no colour. */
  count?: number | undefined
}

/** Inline form, for lines and tables. */
export function OutcomeLabel({ outcome, label = outcomeLabel(outcome), count }: LabelProps) {
  const state = count === 0 ? 'idle' : OUTCOME_STATES[outcome]
  return (
    <span className={`inline-flex items-center gap-1.5 align-middle whitespace-nowrap ${STATE_TEXT[state]}`}>
      <StateMark state={state} className="size-3.5" />
      {label}
    </span>
  )
}
