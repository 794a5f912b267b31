/** Details of a receipt: outcome, timings, and what to do about it. */

import { useEffect, useRef } from 'react'
import type { Receipt, SpoolOutcome } from 'tunnel/contract'
import {
  formatBytes,
  formatDateTime,
  formatDuration,
  formatTime,
  formatTimestamp,
} from '../../../lib/format.ts'
import { Button } from '../../../ui/button.tsx'
import { OutcomeBadge } from '../../../ui/outcome-badge.tsx'
import { MEANINGS } from '../outcomes.ts'
import { explain } from '../reasons.ts'

type Props = {
  receipt: Receipt
  /** Final outcome of a spooled envelope, once known. */
  end: SpoolOutcome | undefined
  /** Other receipts with the same event ID. */
  siblings: Receipt[]
  /** Set when the details are below the list, out of sight. */
  takesFocus: boolean
  onOpen: (receipt: Receipt) => void
  onClose: () => void
}

export function ReceiptDetails({ receipt, end, siblings, takesFocus, onOpen, onClose }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, as it is opened
  useEffect(() => {
    if (takesFocus) heading.current?.focus()
  }, [])
  const { outcome, reason, items, event_id: eventId } = receipt
  const explained = explain(outcome, reason)
  const isSomeOut = items.some(({ discard_reason: out }) => out)
  return (
    <section
      aria-label="Receipt"
      className="mt-0 min-w-0 rounded-card border border-line bg-surface p-4 wide:p-5"
    >
      <div className="flex items-start justify-between gap-3 text-note">
        <h2
          ref={heading}
          tabIndex={-1}
          className="flex min-h-11 flex-wrap items-center gap-2 text-body font-semibold"
        >
          <OutcomeBadge outcome={outcome} /> {items.map(({ type }) => type).join(', ') || 'not parsed'}
        </h2>
        <Button weight="quiet" onClick={onClose}>
          Close
        </Button>
      </div>
      <p className="mt-3 text-note">{MEANINGS[outcome]}</p>
      {explained && (
        <p className="mt-2 text-note">
          {reason && <code>{reason}: </code>}
          {explained.sentence} <strong>{explained.fix}</strong>
        </p>
      )}
      {end && <End end={end} />}
      <Timeline receipt={receipt} />
      <table className="mt-4 w-full text-note" aria-label="Items">
        <thead>
          <tr className="text-left text-quiet">
            <th className="font-normal">Item</th>
            <th className="text-right font-normal">Count</th>
            <th className="text-right font-normal">Size</th>
            {isSomeOut && <th className="pl-3 font-normal">Removed</th>}
          </tr>
        </thead>
        <tbody>
          {items.map(({ type, count = 1, bytes, discard_reason: out }) => (
            <tr key={`${type} ${out}`} className="border-t border-line tabular-nums">
              <td className="py-1">{type}</td>
              <td className="text-right">{count}</td>
              <td className="text-right">{formatBytes(bytes)}</td>
              {isSomeOut && <td className="pl-3">{out ?? ''}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      <dl className="mt-4 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-note wrap-anywhere">
        {factsOf(receipt).map(([name, value]) => (
          <Fact key={name} name={name} value={value} />
        ))}
      </dl>
      {eventId && (
        <p className="mt-3 text-note">
          <a href={`/console/live-feed?text=${eventId}`} className="link">
            All envelopes with this event ID
          </a>
        </p>
      )}
      {siblings.length > 0 && (
        <ul className="mt-2 grid gap-1 text-note" aria-label="Other envelopes with the same event ID">
          {siblings.map((sibling) => (
            <li key={sibling.id}>
              <button type="button" className="link cursor-pointer" onClick={() => onOpen(sibling)}>
                {formatTime(sibling.time)} {sibling.items.map(({ type }) => type).join(', ')}
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** Final outcome of a spooled envelope. */
function End({
  end: { final_outcome: end, time, waited_ms: waited, upstream_status: upstreamStatus, replica },
}: {
  end: SpoolOutcome
}) {
  return (
    <p className="mt-3 text-note">
      <OutcomeBadge outcome={end} /> {formatDateTime(time)}, after {formatDuration(waited)} in the spool, by{' '}
      {replica}
      {upstreamStatus !== undefined && `; Sentry responded with ${upstreamStatus}`}. {MEANINGS[end]}
    </p>
  )
}

function factsOf(receipt: Receipt): [string, string][] {
  const {
    project,
    sdk,
    status,
    upstream_status: upstreamStatus,
    bytes,
    replica,
    reason,
    flags: remarks,
    id,
    event_id: eventId,
  } = receipt
  const facts: [string, string | number | undefined][] = [
    ['Project', project ?? 'not verified'],
    ['SDK', sdk],
    ['Response', status === 0 ? 'none: the sender disconnected' : status],
    ['Sentry’s response', upstreamStatus],
    ['Reason', reason],
    ['Size on the wire', formatBytes(bytes)],
    ['Replica', replica],
    ['Notes', remarks?.join(', ')],
    ['Receipt', id],
    ['Event ID', eventId],
  ]
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt className="text-quiet">{name}</dt>
      <dd>{value}</dd>
    </>
  )
}

/** Timeline of the request, with the duration of each part. */
function Timeline({ receipt }: { receipt: Receipt }) {
  const { time, duration_ms: took } = receipt
  const parts = partsOf(receipt)
  let from = 0
  return (
    <div className="mt-4">
      {parts.length > 0 && (
        <svg
          viewBox="0 0 100 6"
          preserveAspectRatio="none"
          aria-hidden="true"
          className="h-3 w-full border border-quiet"
        >
          {parts.map(({ ms, words, fill }) => {
            const x = from
            from += took > 0 ? (100 * ms) / took : 0
            return <rect key={words} x={x} width={from - x} height="6" className={fill} />
          })}
        </svg>
      )}
      <ol className="mt-2 grid gap-0.5 text-note tabular-nums" aria-label="Timings">
        <li>{formatTimestamp(time)} received</li>
        {parts.map(({ ms, words, fill }) => (
          <li key={words} className="flex items-center gap-2 text-quiet">
            <svg viewBox="0 0 8 8" aria-hidden="true" className="size-2.5 shrink-0 border border-quiet">
              <rect width="8" height="8" className={fill} />
            </svg>
            + {formatDuration(ms)} {words}
          </li>
        ))}
        <li>
          {formatTimestamp(time + took)} response sent, {formatDuration(took)} in total
        </li>
      </ol>
    </div>
  )
}

type Part = { ms: number; words: string; fill: string }

/** Returns the parts of the request's duration; none for an envelope that was not forwarded. */
function partsOf({
  outcome,
  duration_ms: took,
  admitted_after_ms: admittedAfter,
  upstream_duration_ms: upstreamTook,
  upstream_status: upstreamStatus,
}: Receipt): Part[] {
  if (admittedAfter === undefined || upstreamTook === undefined) return []
  const asked = upstreamStatus === undefined ? 'without a response from Sentry' : 'until Sentry responded'
  const then = outcome === 'spooled' ? 'until spooled, synced to disk' : 'until the response was sent'
  return [
    { ms: admittedAfter, words: 'until accepted and forwarded', fill: 'fill-ink' },
    { ms: upstreamTook, words: asked, fill: 'fill-sunken' },
    { ms: Math.max(0, took - admittedAfter - upstreamTook), words: then, fill: 'fill-quiet' },
  ]
}
