/** What has been kept to look at, newest first. */

import type { InboxEntry } from 'tunnel/contract'
import { type Console, consoleFor } from '../../../lib/console/console.ts'
import { readEvent, titleOf } from '../../../lib/console/event.ts'
import { parseJson, readKept } from '../../../lib/console/kept-envelope.ts'
import { sayBytes } from '../../../lib/console/words.ts'
import { Ago } from '../../../ui/console/ago.tsx'
import { Empty } from '../../../ui/console/panel.tsx'
import { ConsoleShell } from '../../../ui/console/shell.tsx'

export const metadata = { title: 'Inbox · Console' }

type Props = { searchParams: Promise<{ after?: string | string[] }> }

const MOST_READ = 1_000_000 // bytes of an envelope that is looked into for a title

export default async function InboxPage({ searchParams }: Props) {
  const { after } = await searchParams
  const from = typeof after === 'string' ? after : undefined
  const door = await consoleFor('/console/inbox')
  const page = await door.inbox(from)
  const entries = page?.entries
  const titled = await Promise.all(
    (entries ?? []).map(async (entry) => ({ entry, title: await titleIn(door, entry) })),
  )
  return (
    <ConsoleShell at="inbox" title="Inbox">
      {entries === undefined && (
        <Empty>
          There is no inbox. It is on where no SENTRY_DSN is set; INBOX=on keeps envelopes beside a real one.
        </Empty>
      )}
      {entries?.length === 0 && (
        <Empty>
          Nothing has arrived yet. Open the{' '}
          <a href="/lab" className="link">
            error lab
          </a>{' '}
          and break something.
        </Empty>
      )}
      <ul className="grid grid-cols-1 gap-2" aria-label="Envelopes, newest first">
        {titled.map(({ entry, title }) => (
          <li key={entry.id}>
            <a
              href={`/console/inbox/${entry.id}`}
              className="grid grid-cols-1 gap-x-4 rounded-part border border-line bg-surface px-4 py-3 text-ink no-underline hover:border-accent wide:grid-cols-[1fr_auto]"
            >
              <strong className="min-w-0 truncate font-semibold">{title}</strong>
              <span className="text-note text-quiet tabular-nums wide:text-right">
                <Ago time={entry.time} />
              </span>
              <span className="min-w-0 truncate text-note text-quiet">{sayTypes(entry.types)}</span>
              <span className="text-note text-quiet tabular-nums wide:text-right">
                {sayBytes(entry.bytes)}
              </span>
            </a>
          </li>
        ))}
      </ul>
      <nav aria-label="Pages of the inbox" className="mt-4 flex gap-4 text-note">
        {from && (
          <a href="/console/inbox" className="link inline-flex min-h-11 items-center">
            Newest
          </a>
        )}
        {page?.next && (
          <a
            href={`/console/inbox?after=${encodeURIComponent(page.next)}`}
            className="link inline-flex min-h-11 items-center"
          >
            Older
          </a>
        )}
      </nav>
    </ConsoleShell>
  )
}

const READABLE = new Set(['event', 'transaction', 'feedback'])

async function titleIn(door: Console, { id, types, bytes }: InboxEntry): Promise<string> {
  if (bytes > MOST_READ || !types.some((type) => READABLE.has(type))) return sayTypes(types) || 'empty'
  const kept = await door.envelope(id)
  const item = kept && readKept(kept).items.find(({ type }) => READABLE.has(type))
  const event = item && readEvent(parseJson(item.payload.toString('utf8')))
  return event ? titleOf(event) : sayTypes(types)
}

function sayTypes(types: string[]): string {
  const counts = Map.groupBy(types, (type) => type)
  return [...counts].map(([type, all]) => (all.length > 1 ? `${type} ×${all.length}` : type)).join(', ')
}
