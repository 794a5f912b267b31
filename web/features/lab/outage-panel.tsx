/** Simulated outage of Sentry: begins it, and shows the pending and the delivered envelopes. */
'use client'

import { captureException } from '@sentry/nextjs'
import type { SimulatedOutageStatus } from 'contract/inbox'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useHydrated } from '../../lib/browser-state.ts'
import { formatQuantity } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { thrown } from './browser-errors.ts'
import { describeOutcome } from './outcome.ts'
import { newReference, useSdkStarted } from './rows.tsx'
import type { Asked, OnServer } from './server-errors.ts'

const BURST = 10

export function OutagePanel({ withPass }: { withPass: OnServer }) {
  const { status, problem, change } = useOutage()
  const begin = withPass((asked) => change('POST', asked))
  const end = withPass((asked) => change('DELETE', asked))
  const hasStarted = useSdkStarted()
  const isDisabled = !useHydrated() || begin.disabled
  const isOn = status !== undefined && status.remaining_ms > 0
  const press = ({ onServer }: typeof begin) => {
    if (!isDisabled) void onServer(newReference())
  }
  return (
    <section className="card" aria-label="Outage of Sentry">
      <h2 className="text-title">Outage of Sentry</h2>
      <p className="mt-2 max-w-3xl text-quiet">
        For 30 seconds, the inbox rejects every envelope with 503, as an unreachable Sentry would, for all
        visitors of this site. Culvert spools them on disk, and delivers them when the outage ends.
      </p>
      <div className="mt-4 flex flex-wrap gap-3">
        {isOn ? (
          <>
            <Button onClick={hasStarted ? sendBurst : undefined} aria-disabled={!hasStarted}>
              Send {BURST} errors
            </Button>
            <Button weight="quiet" onClick={() => press(end)} aria-disabled={isDisabled}>
              End the outage now
            </Button>
          </>
        ) : (
          <Button weight="quiet" onClick={() => press(begin)} aria-disabled={isDisabled}>
            Simulate a Sentry outage
          </Button>
        )}
      </div>
      <div role="status" className="mt-4">
        {problem && <p className="text-bad">{problem}</p>}
        {status && <p>{describeOutage(status)}</p>}
      </div>
      {status && <Counts status={status} />}
    </section>
  )
}

function Counts({ status: { remaining_ms, pending, delivered } }: { status: SimulatedOutageStatus }) {
  if (remaining_ms === 0 && pending + delivered === 0) return null
  return (
    <dl className="mt-3 flex flex-wrap gap-x-10 gap-y-3 tabular-nums">
      {remaining_ms > 0 && <Count name="Ends in" value={`${Math.ceil(remaining_ms / 1000)} s`} />}
      <Count name="Pending" value={pending} />
      <Count name="Delivered" value={delivered} />
    </dl>
  )
}

function Count({ name, value }: { name: string; value: number | string }) {
  return (
    <div>
      <dt className="text-note text-quiet">{name}</dt>
      <dd className="text-title">{value}</dd>
    </div>
  )
}

function sendBurst(): void {
  const reference = newReference()
  for (let n = 1; n <= BURST; n++) captureException(thrown(`Number ${n} of an outage thrown`, reference))
}

/** Describes the state without its counts, which change every second. */
function describeOutage({ remaining_ms, pending, delivered }: SimulatedOutageStatus): string {
  if (remaining_ms > 0)
    return 'Sentry is unreachable (simulated). Envelopes are accepted and wait on disk. Send some, also with the buttons below.'
  if (pending > 0) return 'Sentry responds again. The pending envelopes are being delivered.'
  if (delivered > 0)
    return `The outage is over. ${formatQuantity(delivered, 'spooled envelope')} arrived in the inbox.`
  return 'No outage at the moment.'
}

const POLL_MS = 1_000
const PATH = '/lab/outage'
const NO_RESPONSE = 'The tunnel does not respond. Try again.'

type Answer = SimulatedOutageStatus & { rejection: string; detail: string }

/** Returns the state, the reason why the last change failed, and a function that begins or ends an outage. */
function useOutage() {
  const [status, setStatus] = useState<SimulatedOutageStatus>()
  const [problem, setProblem] = useState<string>()
  const changes = useRef(0)
  const isActive = status !== undefined && (status.remaining_ms > 0 || status.pending > 0)

  const request = useCallback(async (method: string, asked: Partial<Asked> = {}) => {
    const changesBefore = changes.current
    const response = await fetch(`${PATH}?${new URLSearchParams(asked)}`, { method }).catch(() => undefined)
    const answer: Partial<Answer> = await (response?.json() ?? {})
    const { remaining_ms, pending, delivered, rejection, detail } = answer
    if (rejection !== undefined) return describeOutcome({ is: 'rejected', why: rejection }).text
    if (detail !== undefined) return detail
    if (remaining_ms === undefined || pending === undefined || delivered === undefined) return NO_RESPONSE
    if (method !== 'GET') changes.current += 1
    else if (changes.current !== changesBefore) return undefined // read before the change
    setStatus({ remaining_ms, pending, delivered })
    return undefined
  }, [])

  useEffect(() => void request('GET').catch(() => undefined), [request])
  useEffect(() => {
    if (!isActive) return
    const timer = setInterval(() => void request('GET').catch(() => undefined), POLL_MS)
    return () => clearInterval(timer)
  }, [isActive, request])

  const change = useCallback(
    async (method: 'POST' | 'DELETE', asked: Asked) =>
      setProblem(await request(method, asked).catch(() => NO_RESPONSE)),
    [request],
  )
  return { status, problem, change }
}
