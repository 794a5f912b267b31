/** Rows of the inbox: groups of envelopes, and single envelopes. */

import type { InboxEntry, InboxGroup } from 'contract/inbox'
import type { ReactNode } from 'react'
import { formatCount, formatQuantity } from '../../../../lib/format.ts'
import { Ago } from '../../../../ui/relative-time.tsx'
import { StateMark } from '../../../../ui/status-badge.tsx'
import { cutText, TEXT } from '../../bounds.ts'
import { withQuery } from '../../routes.ts'
import { INBOX, type InboxQuery } from './query.ts'

const COLUMNS =
  'wide:grid-cols-[6.5rem_minmax(0,1fr)_5rem_6rem] desk:grid-cols-[6.5rem_minmax(0,1fr)_10rem_8rem_5rem_5rem_6rem]'

export function GroupRows({ groups, query }: { groups: readonly InboxGroup[]; query: InboxQuery }) {
  return (
    <Rows label="Groups, last updated first" columns={['Envelopes', 'Users', 'Last']}>
      {groups.map(({ envelopes, users, first, newest }) => (
        <Row
          key={newest.id}
          entry={newest}
          href={
            envelopes === 1 ? `${INBOX}/${newest.id}` : withQuery(INBOX, { ...query, group: newest.group })
          }
          count={formatCount(envelopes)}
          countLabel={envelopes === 1 ? 'envelope' : 'envelopes'}
          users={users > 0 ? formatCount(users) : ''}
        >
          {envelopes > 1 && (
            <span className="hidden text-quiet wide:inline">
              {' '}
              since <Ago time={first} />
            </span>
          )}
        </Row>
      ))}
    </Rows>
  )
}

export function EntryRows({ entries }: { entries: readonly InboxEntry[] }) {
  return (
    <Rows label="Envelopes, newest first" columns={['', '', 'Time']}>
      {entries.map((entry) => (
        <Row key={entry.id} entry={entry} href={`${INBOX}/${entry.id}`} count="" countLabel="" users="" />
      ))}
    </Rows>
  )
}

/** Sums up a group above its envelopes. */
export function GroupHead({ group: { envelopes, users, first, newest } }: { group: InboxGroup }) {
  return (
    <div className="panel mb-3">
      <h2 className="text-body font-semibold wrap-anywhere">{newest.title}</h2>
      <p className="mt-1 text-note text-quiet">
        {formatQuantity(envelopes, 'envelope')}
        {users > 0 && `, ${formatQuantity(users, 'user')}`}, first <Ago time={first} />, last{' '}
        <Ago time={newest.time} />
      </p>
    </div>
  )
}

type RowsProps = { label: string; columns: [count: string, users: string, time: string]; children: ReactNode }

function Rows({ label, columns: [count, users, time], children }: RowsProps) {
  return (
    <div className="overflow-hidden rounded-card border border-line bg-surface">
      <p
        aria-hidden="true"
        className={`hidden gap-x-4 border-b border-line px-4 py-1.5 text-note text-quiet wide:grid ${COLUMNS}`}
      >
        <span>Kind</span>
        <span>Title</span>
        <span className="hidden desk:inline">Release</span>
        <span className="hidden desk:inline">Environment</span>
        <span className="text-right">{count}</span>
        <span className="hidden text-right desk:inline">{users}</span>
        <span className="text-right">{time}</span>
      </p>
      <ul className="grid grid-cols-1" aria-label={label}>
        {children}
      </ul>
    </div>
  )
}

type RowProps = {
  entry: InboxEntry
  href: string
  count: string
  countLabel: string
  users: string
  children?: ReactNode
}

function Row({ entry, href, count, countLabel, users, children }: RowProps) {
  const { kind, title, is_error: isError, release, environment, time, types } = entry
  return (
    <li className="border-t border-line first:border-t-0">
      <a
        href={href}
        title={cutText(types.join(', '), TEXT.title)}
        className={`grid min-h-11 grid-cols-[minmax(0,1fr)_auto_auto] items-center gap-x-4 px-4 py-1.5 text-note text-ink no-underline -outline-offset-3 hover:bg-sunken ${COLUMNS}`}
      >
        <span className={`inline-flex items-center gap-1.5 ${isError ? 'text-bad' : 'text-quiet'}`}>
          {isError && <StateMark state="bad" className="size-3.5" />}
          <span className="truncate">{kind}</span>
        </span>
        <span className="order-last col-span-3 min-w-0 truncate wide:order-none wide:col-span-1">
          <span className={isError ? 'font-semibold' : ''}>{title}</span>
          {children}
        </span>
        <Optional label="release">{release}</Optional>
        <Optional label="environment">{environment}</Optional>
        <span className="text-right tabular-nums">
          {count && (
            <>
              {count} <span className="text-quiet wide:sr-only">{countLabel}</span>
            </>
          )}
        </span>
        <span className="hidden text-right text-quiet tabular-nums desk:inline">
          {users}
          {users && <span className="sr-only"> users</span>}
        </span>
        <span className="text-right text-quiet">
          <Ago time={time} />
        </span>
      </a>
    </li>
  )
}

/** Column of wide screens. */
function Optional({ label, children }: { label: string; children: string }) {
  return (
    <span className="hidden truncate text-quiet desk:inline" title={children}>
      {children && <span className="sr-only">{label} </span>}
      {children}
    </span>
  )
}
