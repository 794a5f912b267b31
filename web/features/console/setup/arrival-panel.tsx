/** Panel that turns green when the upstream has accepted the first envelope of a site. */
'use client'

import type { Receipt, Rejections, SpoolOutcome } from 'contract/admin-api'
import type { Deployment } from 'contract/situation/deployments'
import { remedyOfStatus } from 'contract/situation/upstream-errors'
import { hostOf } from 'contract/situation/upstreams'
import { useRouter } from 'next/navigation'
import { useEffect, useState } from 'react'
import { formatTime } from '../../../lib/format.ts'
import { Button } from '../../../ui/button.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { StateMark } from '../../../ui/status-badge.tsx'
import { headerOf } from '../env-line.ts'
import { useEventStream } from '../live-data.tsx'
import type { FeedEvent } from '../live-feed/feed-rows.ts'
import { typeLabel } from '../outcomes.ts'
import { explain } from '../reasons.ts'
import { RejectionRemedy } from '../rejections/rejection-remedy.tsx'
import { withQuery } from '../routes.ts'
import { describeReceiptError } from '../upstream-errors.ts'
import { type Arrival, addFinalOutcomes, addReceipt, arrivalOf, readSite } from './first-envelope.ts'

type Props = {
  project: string
  /** Time of the page in milliseconds since 1970. */
  since: number
  hasInbox: boolean
  rejections: Pick<Rejections, 'rejections' | 'settings'>
  deployment: Deployment | undefined
}

export function ArrivalPanel({ project, since, hasInbox, rejections, deployment }: Props) {
  const [address, setAddress] = useState('')
  const [receipts, setReceipts] = useState<readonly Receipt[]>([])
  const [finalOutcomes, setFinalOutcomes] = useState<readonly SpoolOutcome[]>([])
  const site = readSite(address)
  const arrival = arrivalOf(addFinalOutcomes(receipts, finalOutcomes), site)
  useEventStream<FeedEvent>('/console/receipts', (event) => {
    setReceipts((known) =>
      event.receipts.reduce((now, each) => addReceipt(now, each, { project, since }), known),
    )
    setFinalOutcomes((known) => [...known, ...event.finalOutcomes].slice(-MAX_FINAL_OUTCOMES)) // one may precede its receipt
  })
  const hasArrived = arrival.state === 'arrived'
  return (
    <div className={hasArrived ? 'rounded-card outline-2 outline-good' : ''}>
      <Panel title="3. Send the first envelope">
        <SiteField address={address} onChange={setAddress} />
        <p role="status" className="mt-3 flex items-start gap-2">
          <StateMark state={MARKS[arrival.state]} className="mt-1 size-5" />
          <span className={`min-w-0 wrap-anywhere ${hasArrived ? 'font-semibold text-good' : ''}`}>
            {describe(arrival, project, site)}
          </span>
        </p>
        {arrival.state === 'unconfirmed' && arrival.receipt.origin !== undefined && (
          <Confirmation origin={arrival.receipt.origin} onConfirm={setAddress} />
        )}
        {arrival.state === 'rejected' && <Remedy {...{ receipt: arrival.receipt, rejections, deployment }} />}
        {arrival.state === 'waiting' && <Hint />}
        {arrival.state !== 'waiting' && (
          <Next receipt={arrival.receipt} hasInbox={hasInbox && INBOX_STATES.has(arrival.state)} />
        )}
      </Panel>
    </div>
  )
}

type SiteFieldProps = { address: string; onChange: (address: string) => void }

function SiteField({ address, onChange }: SiteFieldProps) {
  return (
    <label className="grid max-w-md gap-1 text-note text-quiet">
      Address of your site, whose first envelope turns this green
      <input
        type="url"
        value={address}
        onChange={(event) => onChange(event.target.value)}
        placeholder="https://shop.example"
        spellCheck={false}
        autoComplete="off"
        className="min-h-11 w-full rounded-part border border-quiet bg-ground px-3 font-mono text-note text-ink"
      />
    </label>
  )
}

function Confirmation({ origin, onConfirm }: { origin: string; onConfirm: (origin: string) => void }) {
  return (
    <p className="mt-3">
      <Button weight="quiet" onClick={() => onConfirm(origin)}>
        Yes, this is my site
      </Button>
    </p>
  )
}

type RemedyProps = { receipt: Receipt } & Pick<Props, 'rejections' | 'deployment'>

/** Line that accepts the envelope. The page asks for the sample of a rejection that is new to it. */
function Remedy({ receipt, rejections: { rejections, settings }, deployment }: RemedyProps) {
  const router = useRouter()
  const { reason = '', origin } = receipt
  const sample = rejections.find((each) => each.code === reason && headerOf('origin', each) === origin)
  const isNew = !sample || sample.last < receipt.time
  useEffect(() => {
    if (isNew) router.refresh()
  }, [router, isNew])
  return sample && <RejectionRemedy {...{ reason, sample, deployment }} settings={settings[reason] ?? []} />
}

function Hint() {
  return (
    <p className="mt-2 text-note text-quiet">
      Open your site through Culvert and trigger an error, for example in the console of the browser:
      <code className="block">
        setTimeout(() =&gt; {'{'} throw new Error('first') {'}'})
      </code>
    </p>
  )
}

const MARKS = {
  waiting: 'busy',
  unconfirmed: 'wait',
  spooled: 'wait',
  elsewhere: 'busy',
  arrived: 'good',
  rejected: 'bad',
} as const

const INBOX_STATES: ReadonlySet<Arrival['state']> = new Set(['arrived', 'unconfirmed'])

const MAX_FINAL_OUTCOMES = 1_000

const NO_ORIGIN = 'a sender that names no site, such as a server'

function describe(arrival: Arrival, project: string, site: string | undefined): string {
  const expected = `Waiting for the first envelope of ${project}${site === undefined ? '' : ` from ${site}`} …`
  if (arrival.state === 'waiting') return expected
  const { outcome, reason, time, items, origin } = arrival.receipt
  const sender = origin ?? NO_ORIGIN
  if (arrival.state === 'elsewhere') return `${expected} The last one came from ${sender}.`
  const types = items.map(({ type }) => typeLabel(type)).join(', ')
  if (arrival.state === 'unconfirmed')
    return `An envelope of ${project} (${types}) arrived at ${formatTime(time)} from ${sender}. ${origin === undefined ? 'Type the address of your site to wait for its envelopes.' : 'Is this your site?'}`
  if (arrival.state === 'arrived')
    return `It works: the first envelope of ${project} from ${origin} (${types}) arrived at ${formatTime(time)}.`
  if (arrival.state === 'spooled')
    return `An envelope of ${project} (${types}) from ${sender} arrived at ${formatTime(time)} and is in the spool. ${describePending(arrival.receipt, project)} This turns green when Sentry accepts it.`
  const { sentence = '', fix = '' } = explain(outcome, reason) ?? {}
  return `An envelope from ${sender} arrived, but was ${outcome === 'rate_limited' ? 'rate-limited' : outcome}${reason ? ` (${reason})` : ''}. ${sentence} ${fix}`
}

/** Describes why Sentry has not accepted an envelope so far. */
function describePending(
  { upstream_status: status, upstream_error: error, upstream_message: message }: Receipt,
  project: string,
): string {
  const host = hostOf(project)
  if (status === undefined) return error ? `${describeReceiptError(host, error)}.` : ''
  const said = message === undefined ? '' : `: “${message}”`
  return `${host} answered HTTP ${status}${said}. ${remedyOfStatus(status).replace('check', 'Check')}`
}

function Next({ receipt, hasInbox }: { receipt: Receipt; hasInbox: boolean }) {
  return (
    <p className="mt-2 flex flex-wrap gap-x-4 text-note">
      {hasInbox && (
        <a href={`/console/inbox/${receipt.id}`} className="link-block">
          Open it in the inbox
        </a>
      )}
      <a href={withQuery('/console/live-feed', { receipt: receipt.id })} className="link-block">
        Show its receipt
      </a>
    </p>
  )
}
