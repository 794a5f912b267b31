/** List of stored envelopes, newest first, with filters by kind. */

import type { InboxEntry } from 'tunnel/contract'
import { formatBytes } from '../../../lib/format.ts'
import { Empty } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import { StateMark } from '../../../ui/status-badge.tsx'
import { cutText, TEXT } from '../bounds.ts'
import { SETUP, withQuery } from '../routes.ts'
import { KINDS, type Name } from './title.ts'

export type NamedEntry = InboxEntry & { name: Name }

export const INBOX = '/console/inbox'

type Props = {
  entries: NamedEntry[]
  /** Item type that the list is filtered by. */
  type: string | undefined
  isFirstPage: boolean
  next: string | undefined
  isLabOn: boolean
}

export function InboxList({ entries, type, isFirstPage, next, isLabOn }: Props) {
  return (
    <>
      <Kinds chosen={type} />
      {entries.length === 0 ? (
        <Empty>
          No envelopes {type && 'of this kind '}yet.{' '}
          <a href={SETUP} className="link">
            Set up your site
          </a>
          , or try it first. <LabHint isLabOn={isLabOn} />
        </Empty>
      ) : (
        <ul
          className="grid grid-cols-1 overflow-hidden rounded-card border border-line bg-surface"
          aria-label="Envelopes, newest first"
        >
          {entries.map((entry) => (
            <Entry key={entry.id} entry={entry} />
          ))}
        </ul>
      )}
      <nav aria-label="Pages of the inbox" className="mt-4 flex gap-4 text-note">
        {!isFirstPage && (
          <a href={withQuery(INBOX, { type })} className="link-block">
            Newest
          </a>
        )}
        {next && (
          <a href={withQuery(INBOX, { type, after: next })} className="link-block">
            Older
          </a>
        )}
      </nav>
    </>
  )
}

function LabHint({ isLabOn }: { isLabOn: boolean }) {
  if (!isLabOn) return 'To trigger errors, set LAB=on for web and open the error lab at /lab.'
  return (
    <>
      Open the{' '}
      <a href="/lab" className="link">
        error lab
      </a>{' '}
      and trigger an error.
    </>
  )
}

function Kinds({ chosen }: { chosen: string | undefined }) {
  return (
    <nav aria-label="Kinds" className="-mx-3 mb-3 flex flex-wrap text-note">
      {[{ type: undefined, name: 'All' }, ...KINDS].map(({ type, name }) => (
        <a
          key={name}
          href={withQuery(INBOX, { type })}
          aria-current={type === chosen ? 'page' : undefined}
          className="inline-flex min-h-11 items-center rounded-part px-3 text-quiet no-underline hover:text-accent aria-[current]:font-semibold aria-[current]:text-ink"
        >
          {name}
        </a>
      ))}
    </nav>
  )
}

function Entry({ entry: { id, time, bytes, types, name } }: { entry: NamedEntry }) {
  const { kind, title, isError } = name
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
