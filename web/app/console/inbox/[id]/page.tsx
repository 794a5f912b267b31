/** One kept envelope, as a person reads it. */

import { notFound } from 'next/navigation'
import { readLogs, readMetrics, readSpans } from '../../../../lib/console/batch.ts'
import { consoleFor } from '../../../../lib/console/console.ts'
import { feedbackOf, readEvent } from '../../../../lib/console/event.ts'
import { imageType } from '../../../../lib/console/image.ts'
import { parseJson, readKept } from '../../../../lib/console/kept-envelope.ts'
import { nameOf } from '../../../../lib/console/naming.ts'
import { type Query, withQuery } from '../../../../lib/console/places.ts'
import { sayJson, TOO_DEEP } from '../../../../lib/console/say-json.ts'
import { Logs, Metrics } from '../../../../ui/console/batch-panels.tsx'
import { Attachments, RawItems } from '../../../../ui/console/envelope-items.tsx'
import { EventView } from '../../../../ui/console/event-view.tsx'
import { RemoveEnvelope } from '../../../../ui/console/remove-envelope.tsx'
import { ConsoleShell } from '../../../../ui/console/shell.tsx'
import { Waterfall } from '../../../../ui/console/waterfall.tsx'

export const metadata = { title: 'Envelope · Console' }

const RAW_SHOWN = 20_000 // characters of an item; all of it is a download

type Props = { params: Promise<{ id: string }>; searchParams: Promise<Query> }

export default async function EnvelopePage({ params, searchParams }: Props) {
  const { id } = await params
  const door = await consoleFor(withQuery(`/console/inbox/${id}`, await searchParams))
  const bytes = await door.envelope(id)
  if (!bytes) notFound()
  const { header, items } = readKept(bytes)
  const read = (types: string[]) =>
    items.flatMap(({ type, payload }) => (types.includes(type) ? [parseJson(payload.toString('utf8'))] : []))
  const [event, ...others] = read(['event', 'transaction', 'feedback']).flatMap(
    (value) => readEvent(value) ?? [],
  )
  const numbered = items.map(({ type, header: itemHeader, payload }, number) => ({
    ...{ number, type, header: itemHeader, bytes: payload.length },
    isImage: imageType(payload) !== undefined,
    text: sayPayload(payload),
  }))
  const rest = (
    <>
      {others.map((other) => (
        <EventView key={other.event_id ?? other.type} event={other} feedback={feedbackOf(other)} />
      ))}
      <Waterfall spans={read(['span']).flatMap(readSpans)} />
      <Logs lines={read(['log']).flatMap(readLogs)} />
      <Metrics metrics={read(['trace_metric']).flatMap(readMetrics)} />
      <Attachments id={id} items={numbered.filter(({ type }) => type === 'attachment')} />
      <RawItems id={id} header={sayJson(header) ?? TOO_DEEP} items={numbered} />
    </>
  )
  return (
    <ConsoleShell at="inbox" title={nameOf(items).title}>
      <div className="grid grid-cols-1 gap-4">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <a href="/console/inbox" className="link inline-flex min-h-11 items-center text-note">
            Back to the inbox
          </a>
          <RemoveEnvelope id={id} />
        </div>
        {event ? (
          <EventView event={event} feedback={feedbackOf(event)}>
            {rest}
          </EventView>
        ) : (
          rest
        )}
      </div>
    </ConsoleShell>
  )
}

/** Text as it is, JSON on lines of its own; `undefined` for bytes that are neither. */
function sayPayload(payload: Buffer): string | undefined {
  const text = payload.subarray(0, RAW_SHOWN * 4).toString('utf8')
  if (text.includes('�') || text.includes('\0')) return undefined
  const json = payload.length < RAW_SHOWN ? parseJson(text) : undefined
  return (json === undefined ? text : (sayJson(json) ?? text)).slice(0, RAW_SHOWN)
}
