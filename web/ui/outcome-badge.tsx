/** Outcome of an envelope, or final outcome of a spooled one, as colour, shape and word. */

import type { FinalOutcome, Outcome } from 'tunnel/contract'
import { outcomeLabel } from './outcome-labels.ts'
import type { State } from './status.ts'
import { Badge, STATE_TEXT, StateMark } from './status-badge.tsx'

export type OutcomeName = Outcome | FinalOutcome

const STATES: Record<OutcomeName, State> = {
  delivered: 'good',
  spooled: 'wait',
  rate_limited: 'hold',
  filtered: 'drop',
  rejected: 'bad',
  declined: 'bad',
  aborted: 'bad',
  expired: 'bad',
  purged: 'drop',
}

/** Badge beside a heading. */
export function OutcomeBadge({ outcome }: { outcome: OutcomeName }) {
  return <Badge state={STATES[outcome]}>{outcomeLabel(outcome)}</Badge>
}

/** Inline form, for lines and tables. */
export function OutcomeLabel({ outcome }: { outcome: OutcomeName }) {
  return (
    <span
      className={`inline-flex items-center gap-1.5 align-middle whitespace-nowrap ${STATE_TEXT[STATES[outcome]]}`}
    >
      <StateMark state={STATES[outcome]} className="size-3.5" />
      {outcomeLabel(outcome)}
    </span>
  )
}
