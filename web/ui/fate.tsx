/** The badge of a fate: how an envelope was answered, and how it ended where it had to wait. */

import type { Answer, SpoolEnd } from 'tunnel/contract'
import type { State } from '../lib/state.ts'
import { Badge } from './state.tsx'

export type Fate = Answer | SpoolEnd['end']

const STATES: Record<Fate, State> = {
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

export function FateBadge({ fate }: { fate: Fate }) {
  return <Badge state={STATES[fate]}>{fate}</Badge>
}
