/** Readable view of an event: exceptions, breadcrumbs, details, tags and contexts. */

import type { ReactNode } from 'react'
import { formatQuantity } from '../../../lib/format.ts'
import { Panel, Preformatted, Showing } from '../../../ui/panel.tsx'
import { Moment } from '../../../ui/relative-time.tsx'
import { Copyable } from '../../copyable.tsx'
import type { Listed } from '../bounds.ts'
import { Breadcrumbs } from './breadcrumbs/breadcrumb-list.tsx'
import type { CspReport } from './csp-report.ts'
import type { Feedback } from './event.ts'
import { EVENT_ID, type EventModel, type Fact, type ShownException, type ShownFrame } from './event-model.ts'
import { Waterfall } from './waterfall.tsx'

type Props = {
  event: EventModel
  /** Other items of the envelope. */
  children?: ReactNode
}

export function EventView({ event, children }: Props) {
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

/** Stack trace, most recent call first. Frames of libraries are collapsed. */
function ExceptionPanel({ exception: { type, value, note, frames } }: { exception: ShownException }) {
  const own = frames.shown.filter(({ isOwn }) => isOwn)
  const others = frames.shown.filter(({ isOwn }) => !isOwn)
  return (
    <Panel title={type ?? 'Exception'} note={note}>
      <p className="mb-3 wrap-anywhere">{value}</p>
      {frames.total === 0 && <p className="text-note text-quiet">No stack trace.</p>}
      <ol className="grid grid-cols-1 gap-1" aria-label="Stack trace, most recent call first">
        {own.map((frame, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the order of calls is what a stack trace is
          <FrameLine key={index} frame={frame} />
        ))}
      </ol>
      {others.length > 0 && (
        <details className="mt-2">
          <summary className="min-h-8 text-note text-quiet">
            {formatQuantity(others.length, 'library frame')}
          </summary>
          <ol className="grid grid-cols-1 gap-1">
            {others.map((frame, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: as above
              <FrameLine key={index} frame={frame} />
            ))}
          </ol>
        </details>
      )}
      <Showing {...frames} of="frames" />
    </Panel>
  )
}

/** The lines before are in an element: HTML drops a line break at the start of `pre`, as from an empty line. */
function FrameLine({ frame: { name, place, code } }: { frame: ShownFrame }) {
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
    </li>
  )
}
