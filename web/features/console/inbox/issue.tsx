/** Group of an envelope on its page: links to the newer and the older one, occurrences over time, browsers and releases. */

import type { InboxEntry, InboxGroup } from 'contract/inbox'
import { formatCount, formatQuantity } from '../../../lib/format.ts'
import { Panel } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import { Table } from '../../../ui/table.tsx'
import { WEEK } from '../figures/range.ts'
import { type Query, withQuery } from '../routes.ts'
import { INBOX } from './inbox-query.ts'
import { Occurrences } from './occurrences.tsx'

export type Issue = {
  /** Envelope of the page. */
  entry: InboxEntry
  group: InboxGroup
  /** Newest envelopes of the group, newest first. */
  entries: InboxEntry[]
  /** Newest envelopes of the groups before and after it, on the page of the list that it was opened from. */
  previous?: InboxEntry | undefined
  next?: InboxEntry | undefined
  /** Start and end of the counts over time. */
  from: number
  now: number
}

type Props = {
  issue: Issue
  /** Query of the list. */
  list: Query
}

/** Links that the keys of `shell-controls.tsx` follow. */
const NEWER = { rel: 'prev', 'aria-keyshortcuts': 'k' }
const OLDER = { rel: 'next', 'aria-keyshortcuts': 'j' }

/** Links to the neighbours of the envelope in its group, and to those of the group in the list. */
export function Neighbours({ issue: { entry, group, entries, previous, next }, list }: Props) {
  const at = entries.findIndex(({ id }) => id === entry.id)
  const linkOf = (to: InboxEntry | undefined, text: string, shortcut?: typeof NEWER | typeof OLDER) =>
    to && (
      <a href={withQuery(`${INBOX}/${to.id}`, list)} className="link-block" {...shortcut}>
        {text}
      </a>
    )
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-8 text-note">
      {group.envelopes > 1 && (
        <nav aria-label="Envelopes of this group" className="flex flex-wrap items-center gap-x-4">
          {linkOf(entries[at - 1], 'Newer', NEWER)}
          {at >= 0 && (
            <span className="text-quiet tabular-nums">
              {formatCount(at + 1)} of {formatCount(group.envelopes)}
            </span>
          )}
          {at >= 0 && linkOf(entries[at + 1], 'Older', OLDER)}
          <a href={withQuery(INBOX, { group: entry.group })} className="link-block">
            All {formatQuantity(group.envelopes, 'envelope')}
          </a>
        </nav>
      )}
      <nav aria-label="Groups of the list" className="ml-auto flex flex-wrap items-center gap-x-4">
        {linkOf(previous, 'Previous group')}
        {linkOf(next, 'Next group')}
      </nav>
    </div>
  )
}

export function IssuePanel({ issue: { group, entries, from, now } }: Pick<Props, 'issue'>) {
  const { envelopes, users, first, newest, counts = [] } = group
  return (
    <Panel title="Group">
      <p className="mb-3 text-note text-quiet">
        {formatQuantity(envelopes, 'envelope')}
        {users > 0 && `, ${formatQuantity(users, 'user')}`}, first <Ago time={first} />, last{' '}
        <Ago time={newest.time} />
      </p>
      <Occurrences range={WEEK} {...{ from, now, counts }} />
      <div className="mt-3 grid grid-cols-1 items-start gap-x-8 gap-y-3 wide:grid-cols-2">
        <Counts name="Browser" values={entries.map(({ browser }) => browser)} />
        <Counts name="Release" values={entries.map(({ release }) => release)} />
      </div>
      {entries.length < envelopes && (
        <p className="mt-2 text-note text-quiet">
          Browsers and releases are those of the newest {formatCount(entries.length)} envelopes.
        </p>
      )}
    </Panel>
  )
}

const MAX_ROWS = 10

/** Table of values, most frequent first. */
function Counts({ name, values }: { name: string; values: (string | undefined)[] }) {
  const counts = [...Map.groupBy(values.filter(Boolean), (value) => value)]
    .map(([value = '', all]) => ({ value, count: all.length }))
    .sort((a, b) => b.count - a.count)
  if (counts.length === 0) return null
  const remaining = values.length - counts.slice(0, MAX_ROWS).reduce((sum, { count }) => sum + count, 0)
  const others = remaining > 0 ? [{ value: 'others or unknown', count: remaining }] : []
  return (
    <Table
      label={`Envelopes by ${name.toLowerCase()}`}
      columns={[{ name }, { name: 'Envelopes', className: 'text-right' }]}
      rows={[...counts.slice(0, MAX_ROWS), ...others].map(({ value, count }) => ({
        key: value,
        cells: [value, formatCount(count)],
      }))}
    />
  )
}
