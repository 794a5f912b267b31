/** Readable view of an event: exceptions, trace, breadcrumbs, details, tags and contexts. */

import type { ReactNode } from 'react'
import { formatDuration, formatQuantity } from '../../../lib/format.ts'
import { Copyable, CopyIcon } from '../../../ui/code-block.tsx'
import { Panel, Preformatted, Showing } from '../../../ui/panel.tsx'
import { Moment } from '../../../ui/relative-time.tsx'
import type { Listed } from '../bounds.ts'
import type { CspReport } from './csp-report.ts'
import type { Feedback, Span } from './event.ts'
import {
  type BreadcrumbKind,
  EVENT_ID,
  type EventModel,
  type Fact,
  type ShownBreadcrumb,
  type ShownException,
  type ShownFrame,
} from './event-model.ts'

type Props = {
  event: EventModel
  attachments?: ReactNode
  /** Other envelopes with the same error. */
  occurrences?: ReactNode
  /** Other items of the envelope. */
  children?: ReactNode
}

export function EventView({ event, attachments, occurrences, children }: Props) {
  const { id, time, feedback, exceptions, spans, breadcrumbs, facts, tags, user, contexts } = event
  return (
    <div className="grid grid-cols-1 gap-4 desk:grid-cols-[minmax(0,5fr)_minmax(0,3fr)] desk:items-start">
      <div className="grid grid-cols-1 min-w-0 gap-4">
        {feedback && <FeedbackPanel feedback={feedback} />}
        {exceptions.shown.map((exception, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a chain of causes, in its order
          <ExceptionPanel key={index} exception={exception} />
        ))}
        <Showing {...exceptions} of="exceptions" />
        {attachments}
        {occurrences}
        {spans && <Waterfall spans={spans} />}
        {breadcrumbs.total > 0 && <Breadcrumbs crumbs={breadcrumbs} end={time} />}
        {children}
      </div>
      <div className="grid grid-cols-1 min-w-0 gap-4">
        <Panel title="Details">
          <Facts facts={{ shown: facts, total: facts.length }} of="facts" />
          {time !== undefined && (
            <p className="mt-2 text-note text-quiet">
              <Moment time={time} />
            </p>
          )}
          {id && (
            <p className="mt-2 text-note">
              <a
                href={`/console/live-feed?text=${encodeURIComponent(id)}`}
                className="link inline-flex min-h-6 items-center"
              >
                Receipts in the live feed
              </a>
            </p>
          )}
        </Panel>
        {tags.total > 0 && (
          <Panel title="Tags">
            <Facts facts={tags} of="tags" />
          </Panel>
        )}
        {user.total > 0 && (
          <Panel title="User">
            <Facts facts={user} of="values" />
          </Panel>
        )}
        {contexts.total > 0 && (
          <Panel title="Contexts">
            <div>
              {contexts.shown.map(([name, value]) => (
                <details key={name} className="border-t border-line py-1 text-note first:border-t-0">
                  <summary className="min-h-7 wrap-anywhere">{name}</summary>
                  <Preformatted className="my-2 whitespace-pre-wrap">{value}</Preformatted>
                </details>
              ))}
            </div>
            <Showing {...contexts} of="contexts" />
          </Panel>
        )}
      </div>
    </div>
  )
}

function Facts({ facts, of }: { facts: Listed<Fact>; of: string }) {
  return (
    <>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-note">
        {facts.shown.map(([name, value], index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: names may be cut to the same text
          <div key={index} className="contents">
            <dt className="max-w-48 text-quiet wrap-anywhere">{name}</dt>
            <dd className="min-w-0 wrap-anywhere">
              {name === EVENT_ID ? <Copyable text={value} name="event ID" /> : value}
            </dd>
          </div>
        ))}
      </dl>
      <Showing {...facts} of={of} />
    </>
  )
}

/** Violation of the content security policy. */
export function ViolationPanel({ violation: { sample, facts } }: { violation: CspReport }) {
  return (
    <Panel title="Violation of the content security policy">
      <Facts facts={{ shown: facts, total: facts.length }} of="facts" />
      {sample && (
        <Preformatted className="mt-3 rounded-part bg-sunken p-2 whitespace-pre-wrap">{sample}</Preformatted>
      )}
    </Panel>
  )
}

function FeedbackPanel({ feedback: { message, name, email, url } }: { feedback: Feedback }) {
  const from = [name, email].filter(Boolean).join(', ')
  return (
    <Panel title="Feedback" {...(from && { note: from })}>
      <blockquote className="border-l-4 border-accent pl-4 whitespace-pre-wrap wrap-anywhere">
        {message}
      </blockquote>
      {url && <p className="mt-2 text-note text-quiet wrap-anywhere">on {url}</p>}
    </Panel>
  )
}

/** Stack trace, most recent call first. Frames of libraries in a row are folded in their place. */
function ExceptionPanel({ exception }: { exception: ShownException }) {
  const { type, value, note, frames } = exception
  return (
    <Panel
      title={type ?? 'Exception'}
      note={
        <>
          {note} {frames.total > 0 && <CopyIcon text={formatStack(exception)} name="stack trace" />}
        </>
      }
    >
      <p className="mb-3 wrap-anywhere">{value}</p>
      {frames.total === 0 && <p className="text-note text-quiet">No stack trace.</p>}
      <ol className="grid grid-cols-1 gap-1" aria-label="Stack trace, most recent call first">
        {rowsOf(frames.shown).map((row, index) =>
          Array.isArray(row) ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: the order of calls is what a stack trace is
            <LibraryFrames key={index} frames={row} />
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: as above
            <FrameLine key={index} frame={row} />
          ),
        )}
      </ol>
      <Showing {...frames} of="frames" />
    </Panel>
  )
}

/** Returns frames of the site one by one, and those of libraries in a row together. */
function rowsOf(frames: readonly ShownFrame[]): (ShownFrame | ShownFrame[])[] {
  const rows: (ShownFrame | ShownFrame[])[] = []
  for (const frame of frames) {
    const last = rows.at(-1)
    if (frame.isOwn) rows.push(frame)
    else if (Array.isArray(last)) last.push(frame)
    else rows.push([frame])
  }
  return rows
}

function LibraryFrames({ frames }: { frames: readonly ShownFrame[] }) {
  return (
    <li className="min-w-0">
      <details>
        <summary className="min-h-8 text-note text-quiet">
          {formatQuantity(frames.length, 'library frame')}
        </summary>
        <ol className="grid grid-cols-1 gap-1">
          {frames.map((frame, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the order of calls is what a stack trace is
            <FrameLine key={index} frame={frame} />
          ))}
        </ol>
      </details>
    </li>
  )
}

/** Formats a stack trace as V8 does. */
function formatStack({ type, value, frames }: ShownException): string {
  const title = [type, value].filter(Boolean).join(': ')
  return [title, ...frames.shown.map(({ name, place }) => `    at ${name} (${place})`)].join('\n')
}

/** The lines before are in an element: HTML drops a line break at the start of `pre`, as from an empty line. */
function FrameLine({ frame: { name, place, code, variables } }: { frame: ShownFrame }) {
  return (
    <li className="min-w-0 text-note">
      <code className="font-semibold wrap-anywhere">{name}</code> <span className="text-quiet">in</span>{' '}
      <code className="wrap-anywhere">{place}</code>
      {code && (
        <Preformatted className="mt-1 rounded-part bg-sunken p-2">
          <span className="block">{code.before.join('\n')}</span>
          <strong className="block">{code.line}</strong>
          {code.after.join('\n')}
        </Preformatted>
      )}
      {variables.total > 0 && (
        <details>
          <summary className="min-h-7 text-quiet">{formatQuantity(variables.total, 'variable')}</summary>
          <Facts facts={variables} of="variables" />
        </details>
      )}
    </li>
  )
}

type BreadcrumbsProps = { crumbs: Listed<ShownBreadcrumb>; end: number | undefined }

function Breadcrumbs({ crumbs, end }: BreadcrumbsProps) {
  return (
    <Panel title="Breadcrumbs" note={formatQuantity(crumbs.total, 'breadcrumb')}>
      <ol
        className="grid grid-cols-[auto_auto_minmax(0,1fr)] text-note"
        aria-label="Breadcrumbs, oldest first"
      >
        {crumbs.shown.map((crumb, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they have no name, and never move
          <BreadcrumbRow key={index} crumb={crumb} end={end} />
        ))}
      </ol>
      <Showing {...crumbs} of="breadcrumbs, the most recent" />
    </Panel>
  )
}

function BreadcrumbRow({ crumb, end }: { crumb: ShownBreadcrumb; end: number | undefined }) {
  const { timestamp, kind, label, category, level, text, data } = crumb
  const isBad = level === 'error' || level === 'fatal'
  return (
    <li className="col-span-3 grid grid-cols-subgrid items-baseline gap-x-4 border-t border-line py-1.5 first:border-t-0">
      <span className="text-right text-quiet tabular-nums">
        {timestamp !== undefined && end !== undefined && `−${formatDuration(Math.max(0, end - timestamp))}`}
      </span>
      <span
        title={category}
        className={`flex max-w-40 items-baseline gap-2 ${isBad ? 'text-bad' : 'text-quiet'}`}
      >
        <KindMark kind={kind} />
        <span className="min-w-0 wrap-anywhere">{label}</span>
      </span>
      <div className="col-span-3 min-w-0 wrap-anywhere wide:col-span-1">
        {level && level !== 'info' && (
          <strong className={`font-semibold ${isBad ? 'text-bad' : 'text-quiet'}`}>{level} </strong>
        )}
        {text}
        {data && (
          <details>
            <summary className="min-h-6 text-quiet">Data</summary>
            <Preformatted className="my-1 rounded-part bg-sunken p-2 whitespace-pre-wrap">
              {data}
            </Preformatted>
          </details>
        )}
      </div>
    </li>
  )
}

/** Outlines in a square of 16. */
const MARKS: Record<BreadcrumbKind, string> = {
  click: 'M4 2l8 6-4 1-2 4z',
  input: 'M2 4h12v8H2zM5 6.5v3',
  navigation: 'M2 8h11M9 4l4 4-4 4',
  http: 'M3 5h10l-3-3M13 11H3l3 3',
  console: 'M3 4l4 4-4 4M8.5 12H13',
  sentry: 'M8 2l6 11H2zM8 6.5v3',
  other: 'M8 6a2 2 0 1 0 0 4 2 2 0 1 0 0-4',
}

function KindMark({ kind }: { kind: BreadcrumbKind }) {
  return (
    <svg
      viewBox="0 0 16 16"
      aria-hidden="true"
      className="size-3.5 shrink-0 translate-y-0.5 fill-none stroke-current stroke-[1.5]"
    >
      <path d={MARKS[kind]} strokeLinejoin="round" strokeLinecap="round" />
    </svg>
  )
}

const MAX_DEPTH = 8

export function Waterfall({ spans: { shown: spans, total } }: { spans: Listed<Span> }) {
  const rows = inOrder(spans)
  const start = spans.reduce((first, { start_timestamp: its = first }) => Math.min(first, its), Infinity)
  const end = spans.reduce((last, { timestamp: its = last }) => Math.max(last, its), -Infinity)
  if (rows.length === 0 || !Number.isFinite(start) || !Number.isFinite(end)) return null
  const whole = Math.max(0.001, end - start)
  return (
    <Panel title="Trace" note={formatDuration(whole)}>
      <ol className="grid grid-cols-1 gap-1 text-note" aria-label="Spans by start time">
        {rows.map(
          ({ depth, span: { op, description, status, start_timestamp: from, timestamp: to } }, index) => {
            const left = Math.min(100, Math.max(0, (100 * ((from ?? start) - start)) / whole))
            const width = Math.min(100 - left, Math.max(0.5, (100 * ((to ?? end) - (from ?? start))) / whole))
            const isBad = status !== undefined && status !== 'ok'
            return (
              <li
                // biome-ignore lint/suspicious/noArrayIndexKey: spans never move
                key={index}
                className="grid grid-cols-[minmax(0,1fr)_4.5rem] items-center gap-x-3 wide:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_4.5rem]"
              >
                <span className={`flex gap-x-2 ${INDENTS[Math.min(depth, MAX_DEPTH)]}`} title={description}>
                  <span className="truncate">
                    {description ?? op} {op && <span className="text-quiet">{op}</span>}
                  </span>
                  {isBad && <span className="max-w-1/2 shrink-0 truncate text-bad">{status}</span>}
                </span>
                <span className="text-right tabular-nums wide:order-last">
                  {formatDuration((to ?? end) - (from ?? start))}
                </span>
                <svg
                  viewBox="0 0 100 8"
                  preserveAspectRatio="none"
                  aria-hidden="true"
                  className="col-span-2 h-2.5 w-full wide:col-span-1"
                >
                  <rect width="100" height="8" className="fill-sunken" />
                  <rect x={left} width={width} height="8" className={isBad ? 'fill-bad' : 'fill-quiet'} />
                </svg>
              </li>
            )
          },
        )}
      </ol>
      <Showing shown={rows} total={total} of="spans" />
    </Panel>
  )
}

const INDENTS = ['', 'pl-3', 'pl-6', 'pl-9', 'pl-12', 'pl-15', 'pl-18', 'pl-21', 'pl-24']

type Placed = { span: Span; depth: number }

/** Orders spans as trees; each span appears once, even if a payload claims cyclic parents. */
function inOrder(spans: readonly Span[]): Placed[] {
  const sorted = spans.toSorted((a, b) => (a.start_timestamp ?? 0) - (b.start_timestamp ?? 0))
  const ids = new Set(sorted.flatMap((span) => span.span_id ?? []))
  const parentOf = ({ span_id: id, parent_span_id: parent }: Span) =>
    parent !== undefined && parent !== id && ids.has(parent) ? parent : undefined
  const children = Map.groupBy(sorted, parentOf)
  const placed: Placed[] = []
  const seen = new Set<Span>()
  const pending = (children.get(undefined) ?? []).map((span) => ({ span, depth: 0 })).reverse()
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (seen.has(next.span)) continue
    seen.add(next.span)
    placed.push(next)
    const own = next.span.span_id === undefined ? [] : (children.get(next.span.span_id) ?? [])
    for (const span of own.toReversed()) pending.push({ span, depth: next.depth + 1 })
  }
  return [...placed, ...sorted.filter((span) => !seen.has(span)).map((span) => ({ span, depth: 0 }))]
}
