/** The row of the lab that fails while React renders it, and the boundary that catches it. */
'use client'

import { ErrorBoundary } from '@sentry/nextjs'
import { useState } from 'react'
import { thrown } from '../lib/raise.ts'
import { useOutcome } from '../lib/use-outcome.ts'
import { Button } from './button.tsx'
import { newReference, Row } from './lab-row.tsx'

export function RenderRow() {
  const [reference, setReference] = useState<string>()
  const { outcome, follow } = useOutcome()
  const press = () => {
    const next = newReference()
    follow(next)
    setReference(next)
  }
  return (
    <Row
      name="Fail while rendering"
      about="A part of this page cannot be drawn; a boundary puts another in its place."
      outcome={outcome}
    >
      <Button weight="quiet" onClick={press}>
        Fail while rendering
      </Button>
      {reference && (
        <ErrorBoundary
          key={reference}
          fallback={<p className="mt-2 text-note text-quiet">Drawn in place of what broke.</p>}
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
