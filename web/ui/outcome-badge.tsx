/** Outcome of an envelope, or final outcome of a spooled one, as colour, shape and word. */

import { OUTCOME_STATES, type OutcomeName, outcomeLabel } from './states.ts'
import { Badge, STATE_TEXT, StateMark } from './status-badge.tsx'

/** Badge beside a heading. */
export function OutcomeBadge({ outcome }: { outcome: OutcomeName }) {
  return <Badge state={OUTCOME_STATES[outcome]}>{outcomeLabel(outcome)}</Badge>
}

type LabelProps = {
  outcome: OutcomeName
  /** Default: the name of the outcome. */
  label?: string
}

/** Inline form, for lines and tables. */
export function OutcomeLabel({ outcome, label = outcomeLabel(outcome) }: LabelProps) {
  const state = OUTCOME_STATES[outcome]
  return (
    <span className={`inline-flex items-center gap-1.5 align-middle whitespace-nowrap ${STATE_TEXT[state]}`}>
      <StateMark state={state} className="size-3.5" />
      {label}
    </span>
  )
}
