/** One kept envelope, as a person reads it. */

import { notFound } from 'next/navigation'
import { consoleFor } from '../../../../lib/console/console.ts'
import { feedbackOf, readEvent, titleOf } from '../../../../lib/console/event.ts'
import { imageType } from '../../../../lib/console/image.ts'
import { parseJson, readKept } from '../../../../lib/console/kept-envelope.ts'
import { Attachments, RawItems } from '../../../../ui/console/envelope-items.tsx'
import { EventView } from '../../../../ui/console/event-view.tsx'
import { RemoveEnvelope } from '../../../../ui/console/remove-envelope.tsx'
import { ConsoleShell } from '../../../../ui/console/shell.tsx'

export const metadata = { title: 'Envelope · Console' }

const READABLE = new Set(['event', 'transaction', 'feedback'])
const RAW_SHOWN = 20_000 // characters of an item; all of it is a download

export default async function EnvelopePage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params
  const door = await consoleFor(`/console/inbox/${id}`)
  const bytes = await door.envelope(id)
  if (!bytes) notFound()
  const { header, items } = readKept(bytes)
  const events = items.flatMap(({ type, payload }) => {
    const event = READABLE.has(type) ? readEvent(parseJson(payload.toString('utf8'))) : undefined
    return event ? [{ type, event, feedback: feedbackOf(event) }] : []
  })
  const numbered = items.map(({ type, header: itemHeader, payload }, number) => ({
    ...{ number, type, header: itemHeader, bytes: payload.length },
    isImage: imageType(payload) !== undefined,
    text: sayPayload(payload),
  }))
  const title = events[0] ? titleOf(events[0].event) : items.map(({ type }) => type).join(', ')
  return (
    <ConsoleShell at="inbox" title={title || 'An empty envelope'}>
      <div className="grid grid-cols-1 gap-4">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <a href="/console/inbox" className="link inline-flex min-h-11 items-center text-note">
            Back to the inbox
          </a>
          <RemoveEnvelope id={id} />
        </div>
        {events.map(({ type, event, feedback }) => (
          <EventView key={`${type} ${event.event_id}`} event={event} feedback={feedback} />
        ))}
        <Attachments id={id} items={numbered.filter(({ type }) => type === 'attachment')} />
        <RawItems id={id} header={JSON.stringify(header, null, 2)} items={numbered} />
      </div>
    </ConsoleShell>
  )
}

/** Text as it is, JSON on lines of its own; `undefined` for bytes that are neither. */
function sayPayload(payload: Buffer): string | undefined {
  const text = payload.subarray(0, RAW_SHOWN * 4).toString('utf8')
  if (text.includes('�') || text.includes('\0')) return undefined
  const json = payload.length < RAW_SHOWN ? parseJson(text) : undefined
  return (json === undefined ? text : JSON.stringify(json, null, 2)).slice(0, RAW_SHOWN)
}
