/** Tracks the outcome of what a button triggered. */

import { useCallback, useEffect, useRef, useState } from 'react'
import { onResponse } from '../../lib/sentry/response-events.ts'
import { fetchReceipt } from '../receipt.ts'
import { eventIdOf, isMarked, MAX_WAIT_MS, type Outcome } from './outcome.ts'

/** Returns the outcome so far, its setter, and a function that follows envelopes with `mark` in them. */
export function useOutcome() {
  const [outcome, setOutcome] = useState<Outcome>()
  const stop = useRef(() => {})
  useEffect(() => () => stop.current(), [])

  const follow = useCallback((mark: string) => {
    stop.current()
    setOutcome({ is: 'sending' })
    const late = setTimeout(
      () => setOutcome((now) => (now?.is === 'sending' ? { is: 'unanswered' } : now)),
      MAX_WAIT_MS,
    )
    const stopListening = onResponse(async (envelope, response) => {
      if (!isMarked(envelope, mark)) return
      stopListening()
      if (!response) return setOutcome({ is: 'unanswered' })
      const eventId = eventIdOf(envelope)
      const result = { is: 'answered', response, ...(eventId && { eventId }) } as const
      setOutcome(result)
      const receipt = response.receipt && (await fetchReceipt(response.receipt))
      if (receipt) setOutcome({ ...result, receipt })
    })
    stop.current = () => {
      clearTimeout(late)
      stopListening()
    }
  }, [])

  return { outcome, setOutcome, follow }
}
