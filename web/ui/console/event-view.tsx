/** An event to read: what went wrong, where in the code, what happened before, who met it. */

import type { ReactNode } from 'react'
import type { Breadcrumb, Exception, Feedback, Frame, SentryEvent, Span } from '../../lib/console/event.ts'
import { sayRead, sayValue, traceOf } from '../../lib/console/event.ts'
import { sayJson, sayJsonShort, TOO_DEEP } from '../../lib/console/say-json.ts'
import { sayDuration } from '../../lib/console/words.ts'
import { Moment } from './ago.tsx'
import { Panel } from './panel.tsx'
import { Waterfall } from './waterfall.tsx'

type Props = {
  event: SentryEvent
  feedback: Feedback | undefined
  /** What came with it. */
  children?: ReactNode
}

export function EventView({ event, feedback, children }: Props) {
  return (
    <div className="grid grid-cols-1 gap-4 desk:grid-cols-[minmax(0,5fr)_minmax(0,3fr)] desk:items-start">
      <div className="grid grid-cols-1 min-w-0 gap-4">
        {feedback && <FeedbackPanel feedback={feedback} />}
        {event.exception.toReversed().map((exception, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a chain of causes, in its order
          <ExceptionPanel key={index} exception={exception} />
        ))}
        {event.start_timestamp !== undefined && <Waterfall spans={[wholeOf(event), ...event.spans]} />}
        {event.breadcrumbs.length > 0 && <Breadcrumbs crumbs={event.breadcrumbs} end={event.timestamp} />}
        {children}
      </div>
      <div className="grid grid-cols-1 min-w-0 gap-4">
        <Panel title="About it">
          <Facts facts={factsOf(event)} />
          {event.timestamp !== undefined && (
            <p className="mt-2 text-note text-quiet">
              <Moment time={event.timestamp} />
            </p>
          )}
          {event.event_id && (
            <p className="mt-2 text-note">
              <a href={`/console/feed?text=${encodeURIComponent(event.event_id)}`} className="link">
                Its receipts in the feed
              </a>
            </p>
          )}
        </Panel>
        {event.tags.length > 0 && (
          <Panel title="Tags">
            <Facts facts={event.tags.map(([name = '', value = '']) => [name, value])} />
          </Panel>
        )}
        {event.user && (
          <Panel title="User">
            <Facts facts={Object.entries(event.user).map(([name, value]) => [name, sayValue(value)])} />
          </Panel>
        )}
        {event.contexts && (
          <Panel title="Contexts">
            <div>
              {Object.entries(event.contexts)
                .slice(0, MOST_FACTS)
                .map(([name, value]) => (
                  <details key={name} className="border-t border-line py-1 text-note first:border-t-0">
                    <summary className="min-h-7">{name}</summary>
                    <pre className="my-2 overflow-x-auto font-mono text-note whitespace-pre-wrap">
                      {sayJson(value) ?? TOO_DEEP}
                    </pre>
                  </details>
                ))}
            </div>
          </Panel>
        )}
      </div>
    </div>
  )
}

/** A transaction is the span that holds the others. */
function wholeOf({ contexts, transaction, start_timestamp, timestamp }: SentryEvent): Span {
  const { span_id: id, op, status } = traceOf(contexts)
  return {
    ...{ span_id: id, parent_span_id: undefined, op, description: transaction, status },
    ...{ start_timestamp, timestamp },
  }
}

function factsOf(event: SentryEvent): [string, string][] {
  const { level, environment, release, platform, transaction, request, sdk, event_id: id } = event
  const facts: [string, string | undefined][] = [
    ['Level', level],
    ['Page', request?.url],
    ['Transaction', transaction],
    ['Environment', environment],
    ['Release', release],
    ['Platform', platform],
    ['SDK', sdk && `${sdk.name ?? ''} ${sdk.version ?? ''}`],
    ['Event id', id],
  ]
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
}

const MOST_FACTS = 200

function Facts({ facts }: { facts: [string, string][] }) {
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-note">
      {facts.slice(0, MOST_FACTS).map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-quiet">{name}</dt>
          <dd className="min-w-0 wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function FeedbackPanel({ feedback: { message, name, email, url } }: { feedback: Feedback }) {
  const from = [name, email].filter(Boolean).join(', ')
  return (
    <Panel title="A visitor wrote" {...(from && { note: from })}>
      <blockquote className="border-l-4 border-accent pl-4 whitespace-pre-wrap wrap-anywhere">
        {message}
      </blockquote>
      {url && <p className="mt-2 text-note text-quiet wrap-anywhere">on {url}</p>}
    </Panel>
  )
}

/** Frames of the app first and open; those of libraries can be opened. The last call stands on top. */
function ExceptionPanel({ exception: { type, value, mechanism, stacktrace } }: { exception: Exception }) {
  const frames = stacktrace?.frames.toReversed() ?? []
  const own = frames.filter((frame) => frame.in_app !== false)
  const others = frames.filter((frame) => frame.in_app === false)
  return (
    <Panel title={type ?? 'Exception'} note={mechanism?.handled === false ? 'not caught' : mechanism?.type}>
      <p className="mb-3 wrap-anywhere">{value}</p>
      {frames.length === 0 && <p className="text-note text-quiet">It came without a stack trace.</p>}
      <ol className="grid grid-cols-1 gap-1" aria-label="Stack trace, the last call first">
        {own.map((frame, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the order of calls is what a stack trace is
          <FrameLine key={index} frame={frame} />
        ))}
      </ol>
      {others.length > 0 && (
        <details className="mt-2">
          <summary className="min-h-8 text-note text-quiet">{others.length} in libraries</summary>
          <ol className="grid grid-cols-1 gap-1">
            {others.map((frame, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: as above
              <FrameLine key={index} frame={frame} />
            ))}
          </ol>
        </details>
      )}
    </Panel>
  )
}

const LONGEST_LINE = 400 // characters: minified code is one line

function FrameLine({ frame }: { frame: Frame }) {
  const { filename, abs_path: path, function: name, lineno, colno } = frame
  const place = [filename ?? path ?? 'unknown', lineno, colno].filter((part) => part !== undefined).join(':')
  return (
    <li className="min-w-0 text-note">
      <code className="font-semibold">{name ?? '<anonymous>'}</code> <span className="text-quiet">in</span>{' '}
      <code className="wrap-anywhere">{place}</code>
      {frame.context_line !== undefined && (
        <pre className="mt-1 overflow-x-auto rounded-part bg-sunken p-2 font-mono">
          {sayLines(frame.pre_context.slice(-3))}
          <strong className="block">{frame.context_line.slice(0, LONGEST_LINE)}</strong>
          {sayLines(frame.post_context.slice(0, 3))}
        </pre>
      )}
    </li>
  )
}

function sayLines(lines: readonly string[]): string {
  return lines.map((line) => line.slice(0, LONGEST_LINE)).join('\n')
}

const MOST_CRUMBS = 100

/** On a line of time, each by how long before the end it was. */
function Breadcrumbs({ crumbs, end }: { crumbs: Breadcrumb[]; end: number | undefined }) {
  const shown = crumbs.slice(-MOST_CRUMBS)
  return (
    <Panel title="What happened before" note={sayRead(crumbs, 'breadcrumb')}>
      <ol
        className="grid grid-cols-[auto_auto_minmax(0,1fr)] text-note"
        aria-label="Breadcrumbs, oldest first"
      >
        {shown.map(({ timestamp, category, message, level, data }, index) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: they have no name, and never move
            key={index}
            className="relative col-span-3 ml-1.5 grid grid-cols-subgrid gap-x-4 border-l-2 border-line py-1.5 pl-4"
          >
            <span
              aria-hidden="true"
              className={`absolute top-3 -left-[0.3125rem] size-2 rounded-full ${isError(level) ? 'bg-bad' : 'bg-quiet'}`}
            />
            <span className="text-right text-quiet tabular-nums">
              {timestamp !== undefined &&
                end !== undefined &&
                `−${sayDuration(Math.max(0, end - timestamp))}`}
            </span>
            <span className={isError(level) ? 'text-bad' : 'text-quiet'}>{category ?? 'default'}</span>
            <span className="col-span-3 min-w-0 wrap-anywhere wide:col-span-1">
              {isError(level) && <strong className="font-semibold text-bad">{level} </strong>}
              {message ?? (data ? sayJsonShort(data) : '')}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}

function isError(level: string | undefined): boolean {
  return level === 'error' || level === 'fatal'
}
