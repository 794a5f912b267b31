/** Inbox envelope in readable form, with its items as they are. */

import { formatBytes } from '../../../lib/format.ts'
import { ConfirmButton } from '../../../ui/confirm-button.tsx'
import { Pages } from '../../../ui/pagination.tsx'
import { Copyable } from '../../copyable.tsx'
import { ROWS } from '../bounds.ts'
import { withQuery } from '../routes.ts'
import { Logs, Metrics } from './batch-panels.tsx'
import { Attachments, RawItems } from './envelope-items.tsx'
import type { EnvelopeModel } from './envelope-model.ts'
import { EventView, ViolationPanel } from './event-view.tsx'
import { INBOX } from './list/query.ts'
import type { Replay } from './replay/replay.ts'
import { ReplayPanel } from './replay/replay-panel.tsx'
import { Waterfall } from './waterfall.tsx'

/** `from`: offset of the first item that is shown unmodified. */
type Props = { id: string; model: EnvelopeModel; from: number }

/** `replay` is the one that the envelope names. */
type ViewProps = Props & { replay: Replay | undefined }

export function EnvelopeView({ id, model, from, replay }: ViewProps) {
  const [event] = model.events
  return (
    <div className="grid grid-cols-1 gap-4">
      <Actions id={id} bytes={model.bytes} />
      {model.isShort && <LeftOut model={model} />}
      {replay && <ReplayPanel id={id} replay={replay} event={event} />}
      {event ? (
        <EventView event={event}>
          <Items id={id} model={model} from={from} />
        </EventView>
      ) : (
        <Items id={id} model={model} from={from} />
      )}
    </div>
  )
}

function Actions({ id, bytes }: { id: string; bytes: number }) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 text-note">
      <a href={INBOX} className="link-block">
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
          isFinal
        />
      </div>
    </div>
  )
}

/** Everything except the first event. */
function Items({ id, model, from }: Props) {
  const { events, violations, spans, logs, metrics, attachments, header, items } = model
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
      <Attachments id={id} items={attachments} />
      <RawItems id={id} header={header} items={items.shown}>
        <Pages
          label="Pages of items"
          {...{ from, page: ROWS.items, total: items.total }}
          hrefOf={(offset) => withQuery(`${INBOX}/${id}`, { from: offset })}
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
