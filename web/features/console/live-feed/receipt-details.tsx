/** Details of a receipt: outcome, timings, and the remedy. */

import type { FinalOutcomeReason, Receipt, RequestFlag, SpoolOutcome } from 'contract/admin-api'
import { hostOf } from 'contract/situation/upstreams'
import { useEffect, useRef } from 'react'
import {
  formatBytes,
  formatDateTime,
  formatDuration,
  formatTime,
  formatTimestamp,
} from '../../../lib/format.ts'
import { Button } from '../../../ui/button.tsx'
import { Copyable } from '../../../ui/code-block.tsx'
import { Fact, Facts } from '../../../ui/panel.tsx'
import { OutcomeBadge } from '../../../ui/status-badge.tsx'
import { Table } from '../../../ui/table.tsx'
import { MEANINGS, typeLabel } from '../outcomes.ts'
import { explain } from '../reasons.ts'
import { withQuery } from '../routes.ts'
import { describeReceiptError } from '../upstream-errors.ts'

type Props = {
  receipt: Receipt
  finalOutcome?: SpoolOutcome
  /** Other receipts with the same event ID. */
  related: Receipt[]
  hasInbox: boolean
  onOpen: (receipt: Receipt) => void
  onClose: () => void
}

/** From this width on, the details are beside the list. */
const WIDE = '(min-width: 64rem)'

export function ReceiptDetails(props: Props) {
  const { receipt, finalOutcome, related, onOpen, onClose } = props
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (!matchMedia(WIDE).matches) heading.current?.focus()
  }, [])
  const { outcome, items } = receipt
  return (
    <section aria-label="Receipt" className="panel mt-0">
      <div className="flex items-start justify-between gap-3 text-note">
        <h2
          ref={heading}
          tabIndex={-1}
          className="flex min-h-11 flex-wrap items-center gap-2 text-body font-semibold"
        >
          <OutcomeBadge outcome={outcome} /> {typesOf(receipt)}
        </h2>
        <Button weight="quiet" onClick={onClose}>
          Close
        </Button>
      </div>
      <Meaning receipt={receipt} />
      {finalOutcome && <FinalOutcome finalOutcome={finalOutcome} />}
      <Places {...props} />
      <RequestTimeline receipt={receipt} />
      {items.length > 0 && (
        <div className="mt-4">
          <Items items={items} />
        </div>
      )}
      <div className="mt-4">
        <Facts>
          {factsOf(receipt).map(([name, value]) => (
            <Fact key={name} name={name}>
              {COPIED[name] ? <Copyable text={value} name={COPIED[name]} /> : value}
            </Fact>
          ))}
        </Facts>
      </div>
      <Related receipt={receipt} related={related} onOpen={onOpen} />
    </section>
  )
}

function Meaning({ receipt: { outcome, reason } }: { receipt: Receipt }) {
  const explanation = explain(outcome, reason)
  if (!explanation) return <p className="mt-3 text-note">{MEANINGS[outcome]}</p>
  return (
    <p className="mt-3 text-note">
      {reason && <code>{reason}: </code>}
      {explanation.sentence} <strong>{explanation.fix}</strong>
    </p>
  )
}

const FINAL_REASONS: Readonly<Record<FinalOutcomeReason, string>> = {
  'not-stored': 'Not sent: the server has said that it does not store envelopes of this kind.',
}

function FinalOutcome({ finalOutcome }: { finalOutcome: SpoolOutcome }) {
  const { final_outcome: outcome, time, waited_ms, upstream_status, reason, replica } = finalOutcome
  return (
    <p className="mt-3 text-note">
      <OutcomeBadge outcome={outcome} /> {formatDateTime(time)}, after {formatDuration(waited_ms)} in the
      spool, by {replica}
      {upstream_status !== undefined && `; Sentry responded with ${upstream_status}`}.{' '}
      {reason ? FINAL_REASONS[reason] : MEANINGS[outcome]}
    </p>
  )
}

/** Links to the pages where the envelope can be read: the spool while it is pending, and the inbox once it is delivered. */
function Places({ receipt: { id, time, outcome }, finalOutcome, hasInbox }: Props) {
  const isStored = hasInbox && (finalOutcome?.final_outcome ?? outcome) === 'delivered'
  const isPending = outcome === 'spooled' && !finalOutcome
  if (!isStored && !isPending) return null
  return (
    <p className="mt-1 flex flex-wrap gap-x-4 text-note">
      {isStored && (
        <a href={`/console/inbox/${id}`} className="link-block">
          Open in the inbox
        </a>
      )}
      {isPending && (
        <a href={withQuery(`/console/spool/by-receipt/${id}`, { time: `${time}` })} className="link-block">
          Open in the spool
        </a>
      )}
    </p>
  )
}

const ITEM_COLUMNS = [
  { name: 'Item' },
  { name: 'Count', className: 'text-right' },
  { name: 'Size', className: 'text-right' },
]

function Items({ items }: Pick<Receipt, 'items'>) {
  const isSomeRemoved = items.some((item) => item.discard_reason)
  const rows = items.map(({ type, count = 1, bytes, discard_reason: reason }) => ({
    key: `${type} ${reason}`,
    cells: [typeLabel(type), count, formatBytes(bytes), ...(isSomeRemoved ? [reason] : [])],
  }))
  const columns = isSomeRemoved ? [...ITEM_COLUMNS, { name: 'Removed' }] : ITEM_COLUMNS
  return <Table label="Items" columns={columns} rows={rows} />
}

const FLAGS: Record<RequestFlag, string> = {
  cookie: 'The request had cookies, which the proxy should have removed.',
  authorization: 'The request had an Authorization header, which the proxy should have removed.',
  'address-missing': 'The proxy sent no client address.',
  'address-list':
    'The proxy sent several client addresses. The last one that is not a trusted proxy was used.',
  'address-made-up': 'The client address is forged: it is in a range reserved for documentation.',
  'peer-unknown': 'The peer sent a client address, but is not in EDGE. Its own address was used.',
  retried: 'nginx sent the request again, because another replica was lost.',
}

/** Facts with a button that copies them, and a sentence that describes them. */
const COPIED: Readonly<Record<string, string>> = { Receipt: 'receipt ID', 'Event ID': 'event ID' }

function factsOf(receipt: Receipt): [string, string][] {
  const { project, sdk, status, bytes, replica, reason, flags, id, upstream_error: error } = receipt
  const facts: [string, string | number | undefined][] = [
    ['Project', project ?? 'not verified'],
    ['SDK', sdk],
    ['Site', receipt.origin],
    ['Response', status === 0 ? 'none: the sender disconnected' : status],
    ['Sentry’s response', receipt.upstream_status],
    ['Upstream error', error && describeReceiptError(hostOf(project ?? ''), error)],
    ['Reason', reason],
    ['Size on the wire', formatBytes(bytes)],
    ['Replica', replica],
    ['Warnings', flags?.map((flag) => FLAGS[flag] ?? flag).join(' ')],
    ['Receipt', id],
    ['Event ID', receipt.event_id],
  ]
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
}

type RelatedProps = Pick<Props, 'receipt' | 'related' | 'onOpen'>

function Related({ receipt: { event_id: eventId }, related, onOpen }: RelatedProps) {
  if (!eventId) return null
  return (
    <>
      <p className="mt-3 text-note">
        <a href={`/console/live-feed?text=${eventId}`} className="link inline-flex min-h-6 items-center">
          All envelopes with this event ID
        </a>
      </p>
      {related.length > 0 && (
        <ul className="mt-2 grid gap-1 text-note" aria-label="Other envelopes with the same event ID">
          {related.map((other) => (
            <li key={other.id}>
              <button type="button" className="link min-h-6 cursor-pointer" onClick={() => onOpen(other)}>
                {formatTime(other.time)} {typesOf(other)}
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function typesOf({ items }: Receipt): string {
  return items.map(({ type }) => typeLabel(type)).join(', ') || 'not parsed'
}

function RequestTimeline({ receipt }: { receipt: Receipt }) {
  const { time, duration_ms: durationMs } = receipt
  const parts = partsOf(receipt)
  let end = 0
  const bars = parts.map(({ ms, fill }) => {
    const x = end
    end += durationMs > 0 ? (100 * ms) / durationMs : 0
    return <rect key={fill} x={x} width={end - x} height="6" className={fill} />
  })
  return (
    <div className="mt-4">
      {parts.length > 0 && (
        <svg
          viewBox="0 0 100 6"
          preserveAspectRatio="none"
          aria-hidden="true"
          className="h-3 w-full border border-quiet"
        >
          {bars}
        </svg>
      )}
      <ol className="mt-2 grid gap-0.5 text-note tabular-nums" aria-label="Timings">
        <li>{formatTimestamp(time)} received</li>
        {parts.map(({ ms, text, fill }) => (
          <li key={fill} className="flex items-center gap-2 text-quiet">
            <svg viewBox="0 0 8 8" aria-hidden="true" className="size-2.5 shrink-0 border border-quiet">
              <rect width="8" height="8" className={fill} />
            </svg>
            + {formatDuration(ms)} {text}
          </li>
        ))}
        <li>
          {formatTimestamp(time + durationMs)} response sent, {formatDuration(durationMs)} in total
        </li>
      </ol>
    </div>
  )
}

type Part = { ms: number; text: string; fill: string }

/** Returns the parts of the duration; none for an envelope that was not forwarded. */
function partsOf(receipt: Receipt): Part[] {
  const { outcome, duration_ms: total, admitted_after_ms: admitted, upstream_duration_ms: upstream } = receipt
  if (admitted === undefined || upstream === undefined) return []
  const hasResponse = receipt.upstream_status !== undefined
  return [
    { ms: admitted, text: 'until accepted and forwarded', fill: 'fill-ink' },
    {
      ms: upstream,
      text: hasResponse ? 'until Sentry responded' : 'without a response from Sentry',
      fill: 'fill-sunken',
    },
    {
      ms: Math.max(0, total - admitted - upstream),
      text: outcome === 'spooled' ? 'until stored in the spool' : 'until the response was sent',
      fill: 'fill-quiet',
    },
  ]
}
