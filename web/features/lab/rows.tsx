/** Rows of the lab, each with a button, its effect, and the outcome. */
'use client'

import { ErrorBoundary } from '@sentry/nextjs'
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { useHydrated } from '../../lib/browser-state.ts'
import { browserSdk } from '../../lib/sentry/late-sdk/browser-sdk.ts'
import { onResponse } from '../../lib/sentry/response-events.ts'
import { Button } from '../../ui/button.tsx'
import { CopyIcon } from '../../ui/code-block.tsx'
import { StateMark } from '../../ui/status-badge.tsx'
import { fetchReceipt } from '../receipt.ts'
import { takeClosingEventId, thrown, throwWhileClosing } from './browser-errors.ts'
import { describeOutcome, eventIdOf, isMarked, MAX_WAIT_MS, type Outcome } from './outcome.ts'

type Props = {
  name: string
  children: ReactNode
  /** Disabled for a moment; keeps the focus. */
  disabled?: boolean
  /** Text by which its envelopes are found; default: the reference. */
  mark?: string
} & (
  | { onPress: (reference: string) => void | Promise<void> }
  | { onServer: (reference: string) => Promise<Outcome> }
)

export function LabRow({ name, children, disabled = false, mark, ...raises }: Props) {
  const { outcome, setOutcome, follow } = useOutcome()
  const isReady = { onServer: useHydrated(), inBrowser: useSdkStarted() }
  const isDisabled = disabled || !('onServer' in raises ? isReady.onServer : isReady.inBrowser)
  const press = () => {
    const reference = newReference()
    if ('onServer' in raises) {
      setOutcome({ is: 'sending' })
      raises.onServer(reference).then(setOutcome, () => setOutcome({ is: 'unanswered' }))
      return
    }
    follow(mark ?? reference)
    void raises.onPress(reference)
  }
  return (
    <Row name={name} outcome={outcome} about={children}>
      <Button weight="quiet" onClick={isDisabled ? undefined : press} aria-disabled={isDisabled}>
        {name}
      </Button>
    </Row>
  )
}

type RowProps = { name: string; about: ReactNode; outcome: Outcome | undefined; children: ReactNode }

/** Keeps its height while the outcome arrives. */
function Row({ name, about, outcome, children }: RowProps) {
  return (
    <li
      aria-label={name}
      className="grid content-start gap-x-6 gap-y-3 border-t border-line py-4 first:border-t-0 wide:grid-cols-[18.5rem_1fr] desk:grid-cols-[18.5rem_1fr_18.5rem]"
    >
      <div className="grid content-start">{children}</div>
      <p className="text-quiet wide:pt-2">{about}</p>
      <div
        role="status"
        className={`wide:col-start-2 wide:min-h-14 desk:col-start-3 desk:pt-2 ${outcome ? 'min-h-20' : '-mt-3 wide:mt-0'}`}
      >
        {outcome && <OutcomeText outcome={outcome} />}
      </div>
    </li>
  )
}

function OutcomeText({ outcome }: { outcome: Outcome }) {
  const { state, text } = describeOutcome(outcome)
  const [what, why] = text.split(/(?=: )/)
  const eventId = 'eventId' in outcome && outcome.eventId
  return (
    <p className="flex gap-2">
      <StateMark state={state} className="mt-1 size-5" />
      <span>
        <strong className="font-semibold">{what}</strong>
        {why}
        {eventId && (
          <span className="block text-note text-quiet">
            Event <code>{eventId}</code>
            <CopyIcon text={eventId} name="event ID" />
          </span>
        )}
        {hasArrived(outcome) && (
          <>
            {' '}
            <a href={placeOf(outcome)} className="link inline-flex min-h-6 items-center text-note">
              Open in the console
            </a>
          </>
        )}
      </span>
    </p>
  )
}

/** Returns the address in the console at which the report arrived. */
function placeOf(outcome: Outcome): string {
  if ('eventId' in outcome && outcome.eventId) return `/console/inbox/by-event/${outcome.eventId}`
  const token = outcome.is === 'answered' ? outcome.response.receipt : undefined
  return token === undefined ? '/console/live-feed' : `/console/inbox/by-token/${token}`
}

/** Returns whether this site has the report, as far as the page knows. */
function hasArrived(outcome: Outcome): boolean {
  return outcome.is === 'unreadable' || (outcome.is === 'answered' && outcome.response.status < 300)
}

export function newReference(): string {
  return crypto.getRandomValues(new Uint32Array(1))[0]?.toString(16).padStart(8, '0') ?? ''
}

/** Returns `true` when the SDK has started, and where the page has none. */
export function useSdkStarted(): boolean {
  const [hasStarted, setHasStarted] = useState(false)
  useEffect(() => void browserSdk.whenStarted().then(() => setHasStarted(true)), [])
  return hasStarted
}

/** Returns the outcome so far, its setter, and a function that follows envelopes with `mark` in them. */
function useOutcome() {
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
