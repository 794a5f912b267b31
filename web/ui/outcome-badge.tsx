/** A fate in its colour, shape and word: how an envelope was answered, and how it ended where it had to wait. */

import type { Answer, SpoolEnd } from 'tunnel/contract'
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

/** Beside a heading, on its own. */
export function FateBadge({ fate }: { fate: FateName }) {
  return <Badge state={STATES[fate]}>{fate}</Badge>
}

/** In a line or a table, where there are many. */
export function Fate({ fate }: { fate: FateName }) {
  return (
    <span
      className={`inline-flex items-center gap-1.5 align-middle whitespace-nowrap ${STATE_TEXT[STATES[fate]]}`}
    >
      <StateMark state={STATES[fate]} className="size-3.5" />
      {fate}
    </span>
  )
}
