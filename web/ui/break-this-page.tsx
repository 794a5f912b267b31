/** Two buttons that break the page for real, and what became of each report. */
'use client'

import { useRef } from 'react'
import { useReports } from '../lib/use-reports.ts'
import { Reports } from './reports.tsx'

export function BreakThisPage() {
  const reports = useReports()
  // The SDK sends the same error once only, so each gets a number.
  const raised = useRef(0)
  const breakage = (how: string) => new Error(`${how} on purpose, number ${++raised.current}`)

  return (
    <section aria-labelledby="break">
      <h2 id="break">Break this page</h2>
      <p>Each button raises a real error that nothing catches. The page goes on working.</p>
      <p className="buttons">
        <button
          type="button"
          onClick={() => {
            throw breakage('Thrown')
          }}
        >
          Throw an error
        </button>
        <button type="button" onClick={() => void Promise.reject(breakage('Rejected'))}>
          Reject a promise
        </button>
      </p>
      <noscript>
        <p className="note">
          Your browser does not run scripts here: the buttons do nothing, and nothing is reported.
        </p>
      </noscript>
      <h3 id="became">What became of it</h3>
      <Reports reports={reports} labelledBy="became" />
    </section>
  )
}
