/** The buttons of the error lab, and beside each what became of what it raised. */
'use client'

import { useRouter } from 'next/navigation'
import { type ReactNode, useEffect, useState } from 'react'
import { Card } from '../../ui/card.tsx'
import { LabRow } from './action-row.tsx'
import * as raise from './browser-errors.ts'
import type { Outcome } from './outcome.ts'
import { CloseRow } from './page-close-row.tsx'
import { RenderRow } from './render-error-row.tsx'
import { type Asked, ask, askQuietly, callAction } from './server-errors.ts'
import { useLabClient } from './use-lab-client.ts'

const NOT_FOUND = 'a page that is not there is no error'
const REDIRECT = 'Next leads elsewhere by an error of its own, and it is none'

export function Lab({ pass }: { pass: string }) {
  useLabClient()
  const server = usePass(pass)
  return (
    <div className="mt-10 grid gap-6">
      <Group title="In this browser">
        <LabRow
          name="Throw an error"
          onPress={(reference) => {
            throw raise.thrown('Thrown', reference)
          }}
        >
          Nothing catches it: the SDK notices by itself.
        </LabRow>
        <LabRow
          name="Reject a promise"
          onPress={(reference) => void Promise.reject(raise.thrown('Rejected', reference))}
        >
          Nobody waits for it to fail.
        </LabRow>
        <LabRow name="Catch and report" onPress={raise.handled}>
          The code caught it, and reports it all the same.
        </LabRow>
        <RenderRow />
        <CloseRow />
      </Group>
      <Group title="On the server">
        <LabRow
          name="Fail in a server component"
          {...server((asked) => ask('/lab/server-component', 'GET', asked))}
        >
          A page fails while the server makes it.
        </LabRow>
        <LabRow
          name="Fail in a route handler"
          {...server((asked) => ask('/lab/route-handler', 'POST', asked))}
        >
          An interface of this site fails.
        </LabRow>
        <LabRow name="Fail in a server action" {...server(callAction)}>
          What a form or a button calls on the server fails.
        </LabRow>
      </Group>
      <Group title="More than errors">
        <LabRow name="Trace slow work" onPress={raise.slow}>
          A trace of work that takes a second, with its steps.
        </LabRow>
        <LabRow name="Write logs" onPress={raise.logs}>
          One line to the console and one to the SDK’s logger.
        </LabRow>
        <LabRow name="Count metrics" onPress={raise.metrics}>
          A counter and a distribution.
        </LabRow>
        <LabRow name="Send feedback" onPress={raise.feedback}>
          What a visitor has to say, with a screenshot.
        </LabRow>
        <LabRow name="Record a replay" onPress={raise.replay} mark='"type":"replay_event"'>
          Five seconds of this page as a film, all text masked.
        </LabRow>
      </Group>
      <Group title="Dropped on purpose">
        <LabRow
          name="Ask for what is not there"
          {...server((asked) => askQuietly('/lab/missing', NOT_FOUND, asked))}
        >
          The code calls <code>notFound()</code>.
        </LabRow>
        <LabRow name="Be led elsewhere" {...server((asked) => askQuietly('/lab/redirect', REDIRECT, asked))}>
          The code calls <code>redirect()</code>.
        </LabRow>
        <LabRow name="Send an unfinished trace" onPress={raise.unfinished}>
          Older SDKs send it when a visitor moves on too soon. It says nothing.
        </LabRow>
      </Group>
    </div>
  )
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Card aria-label={title}>
      <h2 className="text-title">{title}</h2>
      <ul className="mt-2">{children}</ul>
    </Card>
  )
}

/** The server raises for a pass that it takes once: after each, the page asks for the next. */
function usePass(pass: string) {
  const { refresh } = useRouter()
  const [spent, setSpent] = useState('')
  useEffect(() => {
    if (spent === pass) refresh()
  }, [spent, pass, refresh])
  return (onServer: (asked: Asked) => Promise<Outcome>) => ({
    disabled: spent === pass,
    onServer: (reference: string) => {
      setSpent(pass)
      return onServer({ pass, reference })
    },
  })
}
