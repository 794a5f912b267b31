/** Row of the lab that fails while its page closes; the next page shows the outcome. */
'use client'

import { useEffect, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { newReference, Row } from './action-row.tsx'
import { lastMoment, takeLastMoment } from './browser-errors.ts'
import type { Outcome } from './outcome.ts'

const NAME = 'Fail as the page closes'

export function CloseRow() {
  const [outcome, tell] = useState<Outcome>()
  useEffect(() => {
    const eventId = takeLastMoment()
    if (eventId) tell({ is: 'unheard', eventId })
  }, [])
  return (
    <Row
      name={NAME}
      about="Thrown while this page unloads; the next page shows the event ID."
      outcome={outcome}
    >
      <Button weight="quiet" onClick={() => lastMoment(newReference())}>
        {NAME}
      </Button>
    </Row>
  )
}
