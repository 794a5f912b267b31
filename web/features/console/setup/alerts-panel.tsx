/** Panel with the destinations of alerts, and a test of them. */
'use client'

import type { AlertTest, AlertTestResult } from 'contract/alerts'
import { useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { StateMark } from '../../../ui/status-badge.tsx'

/** `failed`: why there are no results. */
type Test =
  | { state: 'none' }
  | { state: 'running' }
  | { state: 'failed'; why: string }
  | ({ state: 'done' } & AlertTest)

/** `destinations` is absent while no tunnel responds, and empty when there are none. */
export function AlertsPanel({ destinations }: { destinations: string | undefined }) {
  const [test, setTest] = useState<Test>({ state: 'none' })
  if (destinations === undefined) return null
  const isRunning = test.state === 'running'
  const start = async () => {
    setTest({ state: 'running' })
    setTest(await runTest())
  }
  return (
    <Panel title="Alerts">
      <p className="max-w-prose text-note wrap-anywhere">
        {destinations === '' ? (
          <>
            The tunnels send no alerts. Set <code>ALERT_URL</code> to a webhook of Slack, Discord or another
            server, or to a mail server.
          </>
        ) : (
          `A message is sent when the state on the page Overview changes, to: ${destinations}.`
        )}{' '}
        <a className="link" href="/console/docs/operations#alerts-without-prometheus">
          Set up alerts
        </a>
      </p>
      {destinations !== '' && (
        <div className="mt-3 grid gap-3">
          <div>
            <Button weight="quiet" disabled={isRunning} onClick={() => void start()}>
              Send a test
            </Button>
          </div>
          <div role="status" className="text-note">
            <Results test={test} />
          </div>
        </div>
      )}
    </Panel>
  )
}

function Results({ test }: { test: Test }) {
  if (test.state === 'running') return <p>Sending…</p>
  if (test.state === 'failed') return <p className="text-bad">{test.why}</p>
  if (test.state === 'none') return null
  return (
    <ul className="grid gap-2">
      {test.results.map((result) => (
        <Result key={result.target} {...result} />
      ))}
    </ul>
  )
}

function Result({ target, error }: AlertTestResult) {
  return (
    <li className="flex items-start gap-2">
      <StateMark state={error === undefined ? 'good' : 'bad'} className="mt-0.5 size-4" />
      <span className="min-w-0 wrap-anywhere">
        <strong className="font-semibold">{target}</strong>: {error ?? 'The test was accepted.'}
      </span>
    </li>
  )
}

async function runTest(): Promise<Test> {
  const response = await fetch('/console/alerts/test', { method: 'POST' }).catch(() => undefined)
  if (response?.ok) return { state: 'done', ...((await response.json()) as AlertTest) }
  if (response?.status === 401) return { state: 'failed', why: 'You are signed out: reload this page.' }
  return { state: 'failed', why: 'No tunnel has sent the test. Reload this page, and try again.' }
}
