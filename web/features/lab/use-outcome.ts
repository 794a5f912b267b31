/** Follows what one press of a button has raised. */

import { useCallback, useEffect, useRef, useState } from 'react'
import { hear } from '../../lib/sentry/response-events.ts'
import { fetchReceipt } from '../receipt.ts'
import { eventIdOf, isMarked, LONGEST_WAIT, type Outcome } from './outcome.ts'

/** Gives the outcome so far, a way to tell it, and one to follow envelopes with `mark` in them. */
export function useOutcome() {
  const [outcome, tell] = useState<Outcome>()
  const stop = useRef(() => {})
  useEffect(() => () => stop.current(), [])

  const follow = useCallback((mark: string) => {
    stop.current()
    tell({ is: 'sending' })
    const late = setTimeout(
      () => tell((now) => (now?.is === 'sending' ? { is: 'unanswered' } : now)),
      LONGEST_WAIT,
    )
    const deaf = hear(async (envelope, answered) => {
      if (!isMarked(envelope, mark)) return
      deaf()
      if (!answered) return tell({ is: 'unanswered' })
      const eventId = eventIdOf(envelope)
      const told = { is: 'answered', answered, ...(eventId && { eventId }) } as const
      tell(told)
      const receipt = answered.receipt && (await fetchReceipt(answered.receipt))
      if (receipt) tell({ ...told, receipt })
    })
    stop.current = () => {
      clearTimeout(late)
      deaf()
    }
  }, [])

  return { outcome, tell, follow }
}
