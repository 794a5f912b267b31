/** Inbox: stored envelopes, newest first, all or of one kind. */

import { Readable } from 'node:stream'
import type { InboxEntry } from 'tunnel/contract'
import { cutText, TEXT } from '../../../features/console/bounds.ts'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { type Console, consoleFor } from '../../../features/console/data-access.ts'
import { readKept } from '../../../features/console/inbox/envelope.ts'
import { isTelling, KINDS, type Name, nameOf, nameOfTypes } from '../../../features/console/inbox/title.ts'
import { type Query, withQuery } from '../../../features/console/routes.ts'
import { formatBytes } from '../../../lib/format.ts'
import { Empty } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import { StateMark } from '../../../ui/status-badge.tsx'

export const metadata = { title: 'Inbox · Console' }

type Props = { searchParams: Promise<Query> }

const INBOX = '/console/inbox'
const READ_AT_ONCE = 5

export default async function InboxPage({ searchParams }: Props) {
  const query = await searchParams
  const { after, type } = query
  const from = typeof after === 'string' ? after : undefined
  const kind = KINDS.find((each) => each.type === type)
  const door = await consoleFor(withQuery(INBOX, query))
  const page = await door.inbox(from, kind?.type)
  const entries = page?.entries
  const named = await Readable.from(entries ?? [])
    .map(async (entry: InboxEntry) => ({ entry, name: await nameIn(door, entry) }), {
      concurrency: READ_AT_ONCE,
    })
    .toArray()
  return (
    <ConsoleShell at="inbox" title="Inbox">
      {entries === undefined && (
        <Empty>
          No replica has an inbox. The inbox is on when SENTRY_DSN is not set; with SENTRY_DSN, INBOX=on turns
          it on.
        </Empty>
      )}
      {entries && <Kinds chosen={kind?.type} />}
      {entries?.length === 0 && (
        <Empty>
          No envelopes {kind && 'of this kind '}yet.{' '}
          {door.settings.lab ? (
            <>
              Open the{' '}
              <a href="/lab" className="link">
                error lab
              </a>{' '}
              and trigger an error.
            </>
          ) : (
            'To trigger errors, set LAB=on for web and open the error lab at /lab.'
          )}
        </Empty>
      )}
      {named.length > 0 && (
        <ul
          className="grid grid-cols-1 overflow-hidden rounded-card border border-line bg-surface"
          aria-label="Envelopes, newest first"
        >
          {named.map(({ entry, name }) => (
            <EntryLine key={entry.id} entry={entry} name={name} />
          ))}
        </ul>
      )}
      <nav aria-label="Pages of the inbox" className="mt-4 flex gap-4 text-note">
        {from && (
          <a href={pathOf(kind?.type)} className="link inline-flex min-h-11 items-center">
            Newest
          </a>
        )}
        {page?.next && (
          <a href={pathOf(kind?.type, page.next)} className="link inline-flex min-h-11 items-center">
            Older
          </a>
        )}
      </nav>
    </ConsoleShell>
  )
}

function Kinds({ chosen }: { chosen: string | undefined }) {
  return (
    <nav aria-label="Kinds" className="-mx-3 mb-3 flex flex-wrap text-note">
      {[{ type: undefined, name: 'All' }, ...KINDS].map(({ type, name }) => (
        <a
          key={name}
          href={pathOf(type)}
          aria-current={type === chosen ? 'page' : undefined}
          className="inline-flex min-h-11 items-center rounded-part px-3 text-quiet no-underline hover:text-accent aria-[current]:font-semibold aria-[current]:text-ink"
        >
          {name}
        </a>
      ))}
    </nav>
  )
}

function EntryLine({
  entry: { id, time, bytes, types },
  name: { kind, title, isError },
}: {
  entry: InboxEntry
  name: Name
}) {
  return (
    <li className="border-t border-line first:border-t-0">
      <a
        href={`${INBOX}/${id}`}
        title={cutText(types.join(', '), TEXT.title)}
        className="grid min-h-11 grid-cols-[1fr_auto] items-center gap-x-4 px-4 py-1.5 text-note text-ink no-underline -outline-offset-3 hover:bg-sunken wide:grid-cols-[6.5rem_1fr_5rem_6rem]"
      >
        <span className={`inline-flex items-center gap-1.5 ${isError ? 'text-bad' : 'text-quiet'}`}>
          {isError && <StateMark state="bad" className="size-3.5" />}
          {kind}
        </span>
        <span
          className={`order-last col-span-2 min-w-0 truncate wide:order-none wide:col-span-1 ${isError ? 'font-semibold' : ''}`}
        >
          {title}
        </span>
        <span className="hidden text-right text-quiet tabular-nums wide:block">{formatBytes(bytes)}</span>
        <span className="text-right text-quiet">
          <Ago time={time} />
        </span>
      </a>
    </li>
  )
}

function pathOf(type: string | undefined, after?: string): string {
  return withQuery(INBOX, { type, after })
}

async function nameIn(door: Console, { id, types }: InboxEntry): Promise<Name> {
  const kept = isTelling(types) ? await door.envelopeStart(id) : undefined
  return kept ? nameOf(readKept(kept).items, types) : nameOfTypes(types)
}
