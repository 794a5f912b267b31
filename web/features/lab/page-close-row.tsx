/** Row of the lab that fails while its page closes; the next page shows the outcome. */
'use client'

import { useEffect, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { newReference, Row } from './action-row.tsx'
import { takeClosingEventId, throwWhileClosing } from './browser-errors.ts'
import type { Outcome } from './outcome.ts'
import { useSdkStarted } from './use-sdk-started.ts'

const NAME = 'Fail as the page closes'

export function CloseRow() {
  const [outcome, setOutcome] = useState<Outcome>()
  const isDisabled = !useSdkStarted()
  useEffect(() => {
    const eventId = takeClosingEventId()
    if (eventId) setOutcome({ is: 'unreadable', eventId })
  }, [])
  return (
    <Row
      name={NAME}
      about="Thrown while this page unloads; the next page shows the event ID."
      outcome={outcome}
    >
      <Button
        weight="quiet"
        onClick={isDisabled ? undefined : () => throwWhileClosing(newReference())}
        aria-disabled={isDisabled}
      >
        {NAME}
      </Button>
    </Row>
  )
}
