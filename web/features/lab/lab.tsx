/** Buttons of the error lab, each with its outcome. */
'use client'

import { addIntegration, consoleLoggingIntegration, getClient } from '@sentry/nextjs'
import { type ReactNode, useEffect, useState } from 'react'
import { browserSdk } from '../../lib/sentry/late-sdk/browser-sdk.ts'
import * as raise from './browser-errors.ts'
import { OutagePanel } from './outage-panel.tsx'
import { CloseRow, LabRow, RenderRow, useSdkStarted } from './rows.tsx'
import { ask, askWithoutReport, callAction, type OnServer, usePass } from './server-errors.ts'

const NOT_FOUND = 'a missing page is not an error'
const REDIRECT = 'Next.js throws an error to redirect, which is not a failure'

type Props = {
  pass: string
  /** The browser reports violations of the page's policy, without the SDK. */
  /** An outage can be simulated here. */
  hasOutage: boolean
}

export function Lab({ pass, hasOutage }: Props) {
  useLabClient()
  const server = usePass(pass)
  return (
    <div className="mt-10 grid gap-6">
      <SdkNotice />
      {hasOutage && <OutagePanel withPass={server} />}
      <BrowserErrors />
      <ServerErrors server={server} />
      <OtherReports />
      <BrowserReports />
      <DiscardedReports server={server} />
    </div>
  )
}

function BrowserErrors() {
  return (
    <Group title="In this browser">
      <LabRow
        name="Throw an error"
        onPress={(reference) => {
          throw raise.thrown('Thrown', reference)
        }}
      >
        Nothing catches the error: the SDK’s global handler reports it.
      </LabRow>
      <LabRow
        name="Reject a promise"
        onPress={(reference) => void Promise.reject(raise.thrown('Rejected', reference))}
      >
        Nothing handles the rejection: the SDK’s global handler reports it.
      </LabRow>
      <LabRow name="Catch and report" onPress={raise.handled}>
        The code catches the error and reports it.
      </LabRow>
      <RenderRow />
      <CloseRow />
    </Group>
  )
}

function ServerErrors({ server }: { server: OnServer }) {
  return (
    <Group title="On the server">
      <LabRow
        name="Fail in a server component"
        {...server((asked) => ask('/lab/server-component', 'GET', asked))}
      >
        A page fails while the server renders it.
      </LabRow>
      <LabRow name="Fail in a route handler" {...server((asked) => ask('/lab/route-handler', 'POST', asked))}>
        An API route of this site fails.
      </LabRow>
      <LabRow name="Fail in a server action" {...server(callAction)}>
        A function that a form calls on the server fails.
      </LabRow>
    </Group>
  )
}

function OtherReports() {
  return (
    <Group title="Other reports">
      <LabRow name="Trace slow work" onPress={raise.slow}>
        A trace of work that takes a second, with its spans.
      </LabRow>
      <LabRow name="Write logs" onPress={raise.logs}>
        One line to the console and one to the SDK’s logger.
      </LabRow>
      <LabRow name="Count metrics" onPress={raise.metrics}>
        A counter and a distribution.
      </LabRow>
      <LabRow name="Send feedback" onPress={raise.feedback}>
        A message from a visitor, with a screenshot.
      </LabRow>
      <LabRow name="Record a replay" onPress={raise.replay} mark='"type":"replay_event"'>
        A replay of five seconds of this page, all text masked.
      </LabRow>
    </Group>
  )
}

function BrowserReports() {
  return (
    <Group title="By the browser itself">
      <LabRow name="Violate the security policy" onServer={raise.violation}>
        The page adds a script that its content security policy does not allow. The browser blocks and reports
        it, with the environment of the site.
      </LabRow>
    </Group>
  )
}

function DiscardedReports({ server }: { server: OnServer }) {
  return (
    <Group title="Discarded on purpose">
      <LabRow
        name="Request a missing page"
        {...server((asked) => askWithoutReport('/lab/missing', NOT_FOUND, asked))}
      >
        The code calls <code>notFound()</code>.
      </LabRow>
      <LabRow
        name="Follow a redirect"
        {...server((asked) => askWithoutReport('/lab/redirect', REDIRECT, asked))}
      >
        The code calls <code>redirect()</code>.
      </LabRow>
      <LabRow name="Send an unfinished trace" onPress={raise.unfinished}>
        Older SDKs send one when a visitor leaves a page early. It contains no useful data.
      </LabRow>
    </Group>
  )
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="card" aria-label={title}>
      <h2 className="text-title">{title}</h2>
      <ul className="mt-2">{children}</ul>
    </section>
  )
}

/** Switches on everything that the SDK of this page can send. */
function useLabClient(): void {
  useEffect(() => void browserSdk.whenStarted().then(enableAll), [])
}

function enableAll(): void {
  const options = getClient()?.getOptions()
  if (!options) return
  delete options.beforeSendLog
  delete options.beforeSendMetric
  addIntegration(consoleLoggingIntegration({ levels: ['info'] }))
}

const PATIENCE_MS = 5_000

function SdkNotice() {
  const hasStarted = useSdkStarted()
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <p role="status" className="text-warn empty:hidden">
      {isLate &&
        !hasStarted &&
        'The Sentry SDK of this page is not loaded yet, so the buttons for errors of the browser are off. If it does not load, look for a blocked script in the network tools of the browser.'}
    </p>
  )
}
