/** Row of the lab that fails while React renders it, with the error boundary that catches it. */
'use client'

import { ErrorBoundary } from '@sentry/nextjs'
import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { newReference, Row } from './action-row.tsx'
import { thrown } from './browser-errors.ts'
import { useOutcome } from './use-outcome.ts'
import { useSdkStarted } from './use-sdk-started.ts'

export function RenderRow() {
  const [reference, setReference] = useState<string>()
  const { outcome, follow } = useOutcome()
  const isDisabled = !useSdkStarted()
  const press = () => {
    const next = newReference()
    follow(next)
    setReference(next)
  }
  return (
    <Row
      name="Fail while rendering"
      about="A component fails to render; an error boundary shows a fallback."
      outcome={outcome}
    >
      <Button weight="quiet" onClick={isDisabled ? undefined : press} aria-disabled={isDisabled}>
        Fail while rendering
      </Button>
      {reference && (
        <ErrorBoundary
          key={reference}
          fallback={<p className="mt-2 text-note text-quiet">Fallback of the error boundary.</p>}
        >
          <Broken reference={reference} />
        </ErrorBoundary>
      )}
    </Row>
  )
}

function Broken({ reference }: { reference: string }): never {
  throw thrown('Thrown while React renders', reference)
}
