/** Simulated outage of Sentry: begins it, and shows how envelopes wait and arrive. */
'use client'

import { captureException } from '@sentry/nextjs'
import type { SimulatedOutageStatus } from 'contract/inbox'
import { useHydrated } from '../../../lib/use-hydrated.ts'
import { Button } from '../../../ui/button.tsx'
import { Card } from '../../../ui/card.tsx'
import { newReference } from '../action-row.tsx'
import { thrown } from '../browser-errors.ts'
import type { OnServer } from '../use-pass.ts'
import { useSdkStarted } from '../use-sdk-started.ts'
import { describeOutage } from './describe-outage.ts'
import { useOutage } from './use-outage.ts'

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
    <Card aria-label="Outage of Sentry">
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
    </Card>
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
