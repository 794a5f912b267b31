/** Panel that turns green when the first envelope of a site arrives. */
'use client'

import { useState } from 'react'
import type { Receipt } from 'tunnel/contract'
import { formatTime } from '../../../lib/format.ts'
import { Panel } from '../../../ui/panel.tsx'
import { StateMark } from '../../../ui/status-badge.tsx'
import type { FeedEvent } from '../live-feed/rows.ts'
import { explain } from '../reasons.ts'
import { withQuery } from '../routes.ts'
import { useEventStream } from '../use-event-stream.ts'
import { type Arrival, addReceipt, readSite } from './first-envelope.ts'

/** `since`: time of the page in milliseconds since 1970. */
type Props = { project: string; since: number; hasInbox: boolean }

export function ArrivalPanel({ project, since, hasInbox }: Props) {
  const [address, setAddress] = useState('')
  const [arrival, setArrival] = useState<Arrival>({ state: 'waiting' })
  const site = readSite(address)
  useEventStream<FeedEvent>('/console/receipts', ({ receipts }) =>
    setArrival((known) =>
      receipts.reduce((now, each) => addReceipt(now, each, { project, site, since }), known),
    ),
  )
  const hasArrived = arrival.state === 'arrived'
  const isExpected = arrival.state === 'waiting' || arrival.state === 'elsewhere'
  return (
    <div className={hasArrived ? 'rounded-card outline-2 outline-good' : ''}>
      <Panel title="3. Send the first envelope">
        <p role="status" className="flex items-start gap-2">
          <StateMark state={MARKS[arrival.state]} className="mt-1 size-5" />
          <span className={`min-w-0 wrap-anywhere ${hasArrived ? 'font-semibold text-good' : ''}`}>
            {describe(arrival, project, site)}
          </span>
        </p>
        {isExpected && <SiteField address={address} onChange={setAddress} />}
        {arrival.state === 'waiting' && (
          <p className="mt-2 text-note text-quiet">
            Open your site through Culvert and trigger an error, for example in the console of the browser:
            <code className="block">
              setTimeout(() =&gt; {'{'} throw new Error('first') {'}'})
            </code>
          </p>
        )}
        {arrival.state !== 'waiting' && <Next receipt={arrival.receipt} hasInbox={hasInbox && hasArrived} />}
      </Panel>
    </div>
  )
}

type SiteFieldProps = { address: string; onChange: (address: string) => void }

function SiteField({ address, onChange }: SiteFieldProps) {
  return (
    <label className="mt-3 grid max-w-md gap-1 text-note text-quiet">
      Address of your site, to wait for its envelopes only
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

const MARKS = { waiting: 'busy', elsewhere: 'busy', arrived: 'good', rejected: 'bad' } as const

function describe(arrival: Arrival, project: string, site: string | undefined): string {
  const expected = `Waiting for the first envelope of ${project}${site === undefined ? '' : ` from ${site}`} …`
  if (arrival.state === 'waiting') return expected
  const { outcome, reason, time, items, origin } = arrival.receipt
  if (arrival.state === 'elsewhere')
    return `${expected} The last one came from ${origin ?? 'a sender that names no site, such as a server'}.`
  const from = origin === undefined ? '' : ` from ${origin}`
  if (arrival.state === 'arrived')
    return `It works: the first envelope of ${project}${from} (${items.map(({ type }) => type).join(', ')}) arrived at ${formatTime(time)}.`
  const { sentence = '', fix = '' } = explain(outcome, reason) ?? {}
  return `An envelope arrived, but was ${outcome === 'rate_limited' ? 'rate-limited' : outcome}${reason ? ` (${reason})` : ''}. ${sentence} ${fix}`
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
