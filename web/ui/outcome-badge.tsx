/** Outcome of an envelope, or final outcome of a spooled one, as colour, shape and word. */

import type { Answer, SpoolEnd } from 'tunnel/contract'
import { outcomeLabel } from './outcome-labels.ts'
import type { State } from './status.ts'
import { Badge, STATE_TEXT, StateMark } from './status-badge.tsx'

export type FateName = Answer | SpoolEnd['end']

const STATES: Record<FateName, State> = {
  delivered: 'good',
  spooled: 'wait',
  limited: 'hold',
  filtered: 'drop',
  refused: 'bad',
  declined: 'bad',
  aborted: 'bad',
  expired: 'bad',
  purged: 'drop',
}

/** Badge beside a heading. */
export function FateBadge({ fate }: { fate: FateName }) {
  return <Badge state={STATES[fate]}>{outcomeLabel(fate)}</Badge>
}

/** Inline form, for lines and tables. */
export function Fate({ fate }: { fate: FateName }) {
  return (
    <span
      className={`inline-flex items-center gap-1.5 align-middle whitespace-nowrap ${STATE_TEXT[STATES[fate]]}`}
    >
      <StateMark state={STATES[fate]} className="size-3.5" />
      {outcomeLabel(fate)}
    </span>
  )
}
