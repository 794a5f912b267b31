/** Badge for the state of a live connection. */

import type { State } from '../../ui/states.ts'
import { Badge } from '../../ui/status-badge.tsx'
import type { StreamState } from './use-event-stream.ts'

const SHOWN: Record<StreamState, { state: State; word: string }> = {
  opening: { state: 'busy', word: 'connecting' },
  open: { state: 'live', word: 'live' }, // no green: it says nothing about the envelopes
  broken: { state: 'bad', word: 'connection lost, reconnecting' },
  paused: { state: 'hold', word: 'paused' },
}

export function LiveIndicator({ state }: { state: StreamState }) {
  const { state: shape, word } = SHOWN[state]
  return (
    <span role="status">
      <Badge state={shape}>{word}</Badge>
    </span>
  )
}
