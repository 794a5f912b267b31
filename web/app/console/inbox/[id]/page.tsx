/** Inbox envelope in readable form. */

import { notFound } from 'next/navigation'
import { ROWS } from '../../../../features/console/bounds.ts'
import { ConsoleShell } from '../../../../features/console/console-shell.tsx'
import { consoleFor } from '../../../../features/console/data-access.ts'
import { Logs, Metrics } from '../../../../features/console/inbox/batch-panels.tsx'
import { DeleteButton } from '../../../../features/console/inbox/delete-button.tsx'
import { Attachments, RawItems } from '../../../../features/console/inbox/envelope-items.tsx'
import { type EnvelopeModel, modelEnvelope } from '../../../../features/console/inbox/envelope-model.ts'
import { EventView } from '../../../../features/console/inbox/event-view.tsx'
import { Waterfall } from '../../../../features/console/inbox/waterfall.tsx'
import { type Query, readPlace, withQuery } from '../../../../features/console/routes.ts'
import { formatBytes } from '../../../../lib/format.ts'
import { Pages } from '../../../../ui/pagination.tsx'

export const metadata = { title: 'Envelope · Console' }

type Props = { params: Promise<{ id: string }>; searchParams: Promise<Query> }

export default async function EnvelopePage({ params, searchParams }: Props) {
  const [{ id }, query] = [await params, await searchParams]
  const path = `/console/inbox/${id}`
  const door = await consoleFor(withQuery(path, query))
  const envelope = await door.envelope(id)
  if (!envelope) notFound()
  const from = readPlace(query.from)
  const model = await modelEnvelope(envelope.start, envelope.bytes, from)
  const [event, ...others] = model.events
  const rest = (
    <>
      {others.map((other, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: events never move
        <EventView key={index} event={other} />
      ))}
      <Waterfall spans={model.spans} />
      <Logs lines={model.logs} />
      <Metrics metrics={model.metrics} />
      <Attachments id={id} items={model.attachments} />
      <RawItems id={id} header={model.header} items={model.items.shown}>
        <Pages
          label="Pages of items"
          {...{ from, page: ROWS.items, all: model.items.total }}
          hrefOf={(place) => withQuery(path, { from: place })}
          before="Previous items"
          further="More items"
        />
      </RawItems>
    </>
  )
  return (
    <ConsoleShell at="inbox" title={model.title}>
      <div className="grid grid-cols-1 gap-4">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <a href="/console/inbox" className="link inline-flex min-h-11 items-center text-note">
            Back to the inbox
          </a>
          <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
            <a
              href={`${path}/envelope`}
              download
              className="link inline-flex min-h-11 items-center text-note"
            >
              Download the raw envelope ({formatBytes(model.bytes)})
            </a>
            <DeleteButton id={id} />
          </div>
        </div>
        {model.isShort && <LeftOut model={model} />}
        {event ? <EventView event={event}>{rest}</EventView> : rest}
      </div>
    </ConsoleShell>
  )
}

function LeftOut({ model: { unread, bytes, bytesRead } }: { model: EnvelopeModel }) {
  return (
    <p role="note" className="rounded-part border border-line bg-sunken px-4 py-3 text-note">
      This page shows a part of the envelope. Download the raw envelope to see all of it.
      {bytesRead < bytes && (
        <>
          {' '}
          Only its first {formatBytes(bytesRead)} of {formatBytes(bytes)} are read here.
        </>
      )}
      {unread.map(({ type, bytes }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they never move
        <span key={index}>
          {' '}
          An item of type <code>{type}</code> ({formatBytes(bytes)}) is too large to be shown here.
        </span>
      ))}
    </p>
  )
}
