/** Inbox envelope in readable form, with its items as they are. */

import type { ReactNode } from 'react'
import { formatBytes, formatQuantity } from '../../../lib/format.ts'
import { Copyable } from '../../../ui/code-block.tsx'
import { ConfirmButton } from '../../../ui/confirm-button.tsx'
import { Pages, Panel, Preformatted, Showing } from '../../../ui/panel.tsx'
import { Exactly } from '../../../ui/relative-time.tsx'
import { type Listed, ROWS } from '../bounds.ts'
import { type Query, withQuery } from '../routes.ts'
import type { EnvelopeModel, ShownItem } from './envelope-model.ts'
import type { LogLine, Metric } from './event.ts'
import { EventView, ViolationPanel, Waterfall } from './event-view.tsx'
import { INBOX } from './inbox-query.ts'
import { type Issue, IssuePanel, Neighbours } from './issue.tsx'
import type { Replay } from './replay/replay.ts'
import { ReplayPanel } from './replay/replay-panel.tsx'

/** `from`: offset of the first item that is shown unmodified. */
type Props = {
  id: string
  model: EnvelopeModel
  from: number
  /** Query of the list that the envelope was opened from. */
  list: Query
}

/** `replay` is the one that the envelope names. `issue` is absent while no replica lists the envelope. */
type ViewProps = Props & { replay: Replay | undefined; issue: Issue | undefined }

export function EnvelopeView({ id, model, from, list, replay, issue }: ViewProps) {
  const [event] = model.events
  const row = list.group === undefined ? issue?.entry.group : id
  const back = `${withQuery(INBOX, list)}${row === undefined ? '' : `#${row}`}`
  const attachments = <Attachments id={id} items={model.attachments} />
  const items = <Items {...{ id, model, from, list }} />
  return (
    <div className="grid grid-cols-1 gap-4">
      <Actions id={id} bytes={model.bytes} back={back} />
      {issue && <Neighbours issue={issue} list={list} />}
      {model.isShort && <LeftOut model={model} />}
      {model.mapProblem && (
        <p role="note" className="text-note text-quiet">
          {model.mapProblem}
        </p>
      )}
      {replay && <ReplayPanel id={id} replay={replay} event={event} />}
      {event ? (
        <EventView
          event={event}
          attachments={attachments}
          occurrences={issue?.entry.types.includes('event') && <IssuePanel issue={issue} />}
        >
          {items}
        </EventView>
      ) : (
        <>
          {attachments}
          {items}
        </>
      )}
    </div>
  )
}

function Actions({ id, bytes, back }: { id: string; bytes: number; back: string }) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 text-note">
      <a href={back} className="link-block">
        Back to the inbox
      </a>
      <span className="text-quiet">
        Envelope <Copyable text={id} name="envelope ID" />
      </span>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <a href={withQuery('/console/live-feed', { receipt: id })} className="link-block">
          Receipt in the live feed
        </a>
        <a href={`${INBOX}/${id}/envelope`} download className="link-block">
          Download the raw envelope ({formatBytes(bytes)})
        </a>
        <ConfirmButton
          action={`${INBOX}/${id}/delete`}
          label="Delete this envelope"
          question="This cannot be undone."
          weight="faint"
          isFinal
        />
      </div>
    </div>
  )
}

/** Everything except the first event and the attachments. */
function Items({ id, model, from, list }: Props) {
  const { events, violations, spans, logs, metrics, header, items } = model
  return (
    <>
      {events.slice(1).map((event, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: events do not move
        <EventView key={index} event={event} />
      ))}
      {violations.map((violation, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items do not move
        <ViolationPanel key={index} violation={violation} />
      ))}
      <Waterfall spans={spans} />
      <Logs lines={logs} />
      <Metrics metrics={metrics} />
      <RawItems id={id} header={header} items={items.shown}>
        <Pages
          label="Pages of items"
          {...{ from, page: ROWS.items, total: items.total }}
          hrefOf={(offset) => withQuery(`${INBOX}/${id}`, { ...list, from: offset })}
          of="items"
        />
      </RawItems>
    </>
  )
}

function LeftOut({ model: { unread, bytes, bytesRead } }: { model: EnvelopeModel }) {
  return (
    <p role="note" className="rounded-part border border-line bg-sunken px-4 py-3 text-note">
      This page shows a part of the envelope. Download the raw envelope to see all of it.
      {bytesRead < bytes &&
        ` Only its first ${formatBytes(bytesRead)} of ${formatBytes(bytes)} are read here.`}
      {unread.map(({ type, bytes }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items do not move
        <span key={index}>
          {' '}
          An item of type <code>{type}</code> ({formatBytes(bytes)}) is too large to be shown here.
        </span>
      ))}
    </p>
  )
}

function Attachments({ id, items: { shown, total } }: { id: string; items: Listed<ShownItem> }) {
  if (shown.length === 0) return null
  return (
    <Panel title="Attachments">
      <ul className="grid grid-cols-1 gap-4">
        {shown.map(({ number, filename, bytes, isImage }) => (
          <li key={number} className="grid justify-items-start gap-2">
            <a
              href={urlOf(id, number)}
              download
              className="link inline-flex min-h-6 items-center text-note wrap-anywhere"
            >
              {filename ?? `attachment ${number}`}
            </a>
            <span className="-mt-2 text-note text-quiet">{formatBytes(bytes)}</span>
            {isImage && (
              // biome-ignore lint/performance/noImgElement: a stranger's bytes are not to be worked on by an image library
              <img
                src={`${urlOf(id, number)}?show`}
                alt={`Attachment: ${filename ?? 'image'}`}
                loading="lazy"
                className="max-h-128 max-w-full rounded-part border border-line"
              />
            )}
          </li>
        ))}
      </ul>
      <Showing {...{ shown, total }} of="attachments" />
    </Panel>
  )
}

type RawProps = {
  id: string
  header: string
  items: ShownItem[]
  /** Links to further items. */
  children: ReactNode
}

function RawItems({ id, header, items, children }: RawProps) {
  return (
    <Panel title="Raw items">
      <details className="mb-2 text-note">
        <summary className="min-h-7">Envelope header</summary>
        <Raw text={header} />
      </details>
      {items.map(({ number, type, header: itemHeader, bytes, text, part }) => (
        <details key={number} className="border-t border-line py-1 text-note">
          <summary className="min-h-7">
            {type || 'no type'} <span className="text-note text-quiet">{formatBytes(bytes)}</span>
          </summary>
          <Raw text={itemHeader} />
          {text === undefined ? (
            <p className="my-2 text-note text-quiet">Binary data, not shown.</p>
          ) : (
            <Raw text={text} />
          )}
          <a href={urlOf(id, number)} download className="link inline-flex min-h-6 items-center text-note">
            Download the item
          </a>
          {part && <span className="text-quiet"> {part}</span>}
        </details>
      ))}
      {children}
    </Panel>
  )
}

function urlOf(id: string, number: number): string {
  return `/console/inbox/${id}/items/${number}`
}

function Raw({ text }: { text: string }) {
  return (
    <Preformatted className="my-2 max-h-96 rounded-part bg-sunken p-3 whitespace-pre-wrap">
      {text}
    </Preformatted>
  )
}

function Logs({ lines: { shown, total } }: { lines: Listed<LogLine> }) {
  if (total === 0) return null
  return (
    <Panel title="Logs" note={formatQuantity(total, 'line')}>
      <ol className="grid grid-cols-1 text-note" aria-label="Log lines, in order of arrival">
        {shown.map(({ timestamp, level, body }, index) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: lines never move
            key={index}
            className="flex flex-wrap gap-x-3 border-t border-line py-1 first:border-t-0"
          >
            {timestamp !== undefined && <Exactly time={timestamp} />}
            <span className={level === 'error' || level === 'fatal' ? 'text-bad' : 'text-quiet'}>
              {level}
            </span>
            <span className="min-w-0 flex-1 wrap-anywhere whitespace-pre-wrap">{body}</span>
          </li>
        ))}
      </ol>
      <Showing {...{ shown, total }} of="lines" />
    </Panel>
  )
}

function Metrics({ metrics: { shown, total } }: { metrics: Listed<Metric> }) {
  if (total === 0) return null
  return (
    <Panel title="Metrics" note={formatQuantity(total, 'metric')}>
      <table className="w-full text-note" aria-label="Metrics">
        <tbody>
          {shown.map(({ name, type, value, unit }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: they never move
            <tr key={index} className="border-t border-line first:border-t-0">
              <th scope="row" className="py-1 text-left font-normal wrap-anywhere">
                {name}
              </th>
              <td className="text-quiet">{type}</td>
              <td className="text-right tabular-nums">
                {value} {unit}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Showing {...{ shown, total }} of="metrics" />
    </Panel>
  )
}
