/** Clock of the reader, for sentences. */
'use client'

import { type Clock, utcClock } from 'contract/situation/describe'
import { useNow } from '../../../lib/browser-state.ts'
import { formatWhen } from '../../../lib/format.ts'

/** Returns the reader's clock. The server does not know their time zone, and uses UTC. `time` is now by its clock. */
export function useClock(time: number): Clock {
  const now = useNow()
  if (now !== undefined) return { now, format: (each) => formatWhen(each, now) }
  return utcClock(time)
}
