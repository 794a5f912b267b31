/** Pages of the inbox: groups of envelopes, or the envelopes of one group, with search and filters. */

import type { InboxEntry, InboxGroup } from 'contract/inbox'
import type { ReactNode } from 'react'
import { formatCount, formatQuantity } from '../../../lib/format.ts'
import { Button } from '../../../ui/button.tsx'
import { Choice } from '../../../ui/choice.tsx'
import { Empty } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import { Sparkline } from '../../../ui/sparkline.tsx'
import { StateMark } from '../../../ui/status-badge.tsx'
import { cutText, TEXT } from '../bounds.ts'
import { type Query, SETUP, withQuery } from '../routes.ts'
import { FILTERS, INBOX, type PageQuery } from './inbox-query.ts'
import { TABS } from './title.ts'

export type GroupsPage = {
  groups: InboxGroup[]
  next?: string
  /** Most frequent values. */
  releases: string[]
  environments: string[]
}

export type EntriesPage = Pick<GroupsPage, 'next'> & { entries: InboxEntry[] }

type Props = {
  query: PageQuery
  /** If there are `entries`, only their group. */
  groups: GroupsPage
  entries?: EntriesPage | undefined
  /** Page of the list; absent for the first one. */
  after: string | undefined
  isLabOn: boolean
}

export function InboxList({ query, groups, entries, after, isLabOn }: Props) {
  const { group: _, ...ofAll } = query
  const { releases, environments } = groups
  const [head] = groups.groups
  const isEmpty = (entries?.entries ?? groups.groups).length === 0
  return (
    <>
      {entries ? (
        <p className="mb-2 text-note">
          <a href={withQuery(INBOX, ofAll)} className="link-block">
            All groups
          </a>
        </p>
      ) : (
        <Tabs query={query} />
      )}
      <FilterForm {...{ query, releases, environments }} />
      {entries && head && <GroupHead group={head} />}
      {isEmpty && <NoEnvelopes query={query} isLabOn={isLabOn} />}
      {!isEmpty &&
        (entries ? (
          <EntryRows entries={entries.entries} list={{ ...query, after }} />
        ) : (
          <GroupRows groups={groups.groups} list={{ ...query, after }} />
        ))}
      <PageLinks query={query} next={entries ? entries.next : groups.next} isFirstPage={!after} />
    </>
  )
}

type PageLinksProps = { query: PageQuery; next: string | undefined; isFirstPage: boolean }

function PageLinks({ query, next, isFirstPage }: PageLinksProps) {
  return (
    <nav aria-label="Pages of the inbox" className="mt-4 flex gap-4 text-note">
      {!isFirstPage && (
        <a href={withQuery(INBOX, query)} className="link-block">
          Newest
        </a>
      )}
      {next && (
        <a href={withQuery(INBOX, { ...query, after: next })} className="link-block">
          Older
        </a>
      )}
    </nav>
  )
}

function NoEnvelopes({ query: { type, ...filters }, isLabOn }: Pick<Props, 'query' | 'isLabOn'>) {
  if (Object.keys(filters).length > 0)
    return (
      <Empty>
        No envelopes match the filters.{' '}
        <a href={withQuery(INBOX, { type })} className="link">
          Show all
        </a>
        {type !== 'all' && (
          <>
            {' '}
            <a href={withQuery(INBOX, { ...filters, type: 'all' })} className="link">
              Search in all kinds
            </a>
          </>
        )}
      </Empty>
    )
  if (type !== TABS[0].type)
    return <Empty>{type === 'all' ? 'No envelopes yet.' : 'No envelopes of this kind.'}</Empty>
  return (
    <Empty>
      No issues yet.{' '}
      <a href={SETUP} className="link">
        Set up your site
      </a>
      , or try it first. <LabHint isLabOn={isLabOn} /> Other envelopes are under{' '}
      <a href={withQuery(INBOX, { type: 'all' })} className="link">
        All
      </a>
      .
    </Empty>
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

function Tabs({ query }: { query: PageQuery }) {
  return (
    <nav aria-label="Kinds of envelopes" className="-mx-3 mb-3 flex flex-wrap text-note">
      {TABS.map(({ type, name }) => (
        <a
          key={name}
          href={withQuery(INBOX, { ...query, type })}
          aria-current={type === query.type ? 'page' : undefined}
          className="link-page"
        >
          {name}
        </a>
      ))}
    </nav>
  )
}

type FilterProps = { query: PageQuery; releases: readonly string[]; environments: readonly string[] }

function FilterForm({ query, releases, environments }: FilterProps) {
  const { search, release, environment, ...others } = query
  const isSet = FILTERS.some((name) => query[name] !== undefined)
  return (
    <search className="mb-4 block">
      <form
        action={INBOX}
        className="grid grid-cols-2 items-end gap-x-3 gap-y-2 text-note wide:grid-cols-[minmax(0,1fr)_12rem_12rem_auto]"
      >
        {Object.entries(others).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <label className="col-span-2 grid grid-cols-1 gap-1 text-quiet wide:col-span-1">
          Search
          <input
            type="search"
            name="search"
            maxLength={200}
            defaultValue={search ?? ''}
            placeholder="Message, type, release, URL, event ID"
            className="field"
          />
        </label>
        <Choice name="release" label="Release" values={releases} chosen={release} />
        <Choice name="environment" label="Environment" values={environments} chosen={environment} />
        <span className="col-span-2 flex items-center gap-3 wide:col-span-1">
          <Button type="submit">Search</Button>
          {isSet && (
            <a href={withQuery(INBOX, others)} className="link-block">
              Show all
            </a>
          )}
        </span>
      </form>
    </search>
  )
}

const COLUMNS = 'wide:grid-cols-[minmax(0,1fr)_8rem_5rem_5rem_6rem]'

function GroupRows({ groups, list }: { groups: readonly InboxGroup[]; list: Query }) {
  return (
    <Rows label="Groups, last updated first" columns={['Last 24 hours', 'Envelopes', 'Users', 'Last']}>
      {groups.map(({ envelopes, users, first, newest, counts }) => (
        <Row
          key={newest.group}
          name={newest.group}
          entry={newest}
          list={list}
          counts={counts}
          envelopes={envelopes}
          users={users}
        >
          {envelopes > 1 && (
            <>
              {' · since '}
              <Ago time={first} />
            </>
          )}
        </Row>
      ))}
    </Rows>
  )
}

function EntryRows({ entries, list }: { entries: readonly InboxEntry[]; list: Query }) {
  return (
    <Rows label="Envelopes, newest first" columns={['', '', '', 'Time']}>
      {entries.map((entry) => (
        <Row key={entry.id} name={entry.id} entry={entry} list={list} />
      ))}
    </Rows>
  )
}

/** Sums up a group above its envelopes. */
function GroupHead({ group: { envelopes, users, first, newest } }: { group: InboxGroup }) {
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

type RowsProps = {
  label: string
  columns: [counts: string, envelopes: string, users: string, time: string]
  children: ReactNode
}

function Rows({ label, columns: [counts, envelopes, users, time], children }: RowsProps) {
  return (
    <div className="overflow-hidden rounded-card border border-line bg-surface">
      <p
        aria-hidden="true"
        className={`hidden gap-x-4 border-b border-line px-4 py-1.5 text-note text-quiet wide:grid ${COLUMNS}`}
      >
        <span>Title</span>
        <span>{counts}</span>
        <span className="text-right">{envelopes}</span>
        <span className="text-right">{users}</span>
        <span className="text-right">{time}</span>
      </p>
      <ul data-rows className="grid grid-cols-1" aria-label={label}>
        {children}
      </ul>
    </div>
  )
}

type RowProps = {
  /** Fragment of the page's address for this row. */
  name: string
  entry: InboxEntry
  /** Query of the list, to which the page of the envelope leads back. */
  list: Query
  /** Envelopes of the group over time. */
  counts?: readonly (number | null)[] | undefined
  envelopes?: number
  users?: number
  children?: ReactNode
}

function Row({ name, entry, list, counts, envelopes = 0, users = 0, children }: RowProps) {
  const { kind, title, culprit, is_error: isError, release, environment, time, types } = entry
  return (
    <li id={name} className="border-t border-line first:border-t-0 target:bg-sunken">
      <a
        href={withQuery(`${INBOX}/${entry.id}`, list)}
        title={cutText(types.join(', '), TEXT.title)}
        className={`grid min-h-11 grid-cols-[minmax(0,1fr)_4rem_auto] items-center gap-x-4 px-4 py-2 text-note text-ink no-underline -outline-offset-3 hover:bg-sunken ${COLUMNS}`}
      >
        <span className="col-span-3 grid min-w-0 wide:col-span-1">
          <span className={`truncate ${isError ? 'font-semibold' : ''}`}>{title}</span>
          <span className="truncate text-quiet">
            <span className={isError ? 'text-bad' : ''}>
              {isError && <StateMark state="bad" className="mr-1 inline size-3.5 align-[-2px]" />}
              {kind}
            </span>
            {[culprit, release, environment].filter(Boolean).map((text) => ` · ${text}`)}
            {children}
          </span>
        </span>
        <span className="order-1 wide:order-none">{counts && <Sparkline values={counts} />}</span>
        <span className="text-quiet tabular-nums wide:text-right wide:text-ink">
          {envelopes > 0 && (
            <>
              {formatCount(envelopes)}{' '}
              <span className="text-quiet wide:sr-only">{envelopes === 1 ? 'envelope' : 'envelopes'}</span>
            </>
          )}
        </span>
        <span className="hidden text-right text-quiet tabular-nums wide:inline">
          {users > 0 && (
            <>
              {formatCount(users)}
              <span className="sr-only"> users</span>
            </>
          )}
        </span>
        <span className="order-2 text-right text-quiet wide:order-none">
          <Ago time={time} />
        </span>
      </a>
    </li>
  )
}

/** `isOff`: there is none. Otherwise no tunnel has responded with it. */
export type NoInbox = { groups: undefined; isOff: boolean }

export function NoInboxReason({ isOff }: Pick<NoInbox, 'isOff'>) {
  if (isOff)
    return (
      <Empty>
        The inbox is off. It is on when SENTRY_DSN is not set; with SENTRY_DSN, KEEP_HOURS above 0 turns it
        on.
      </Empty>
    )
  return (
    <Empty>
      No tunnel has responded with the inbox. Load the page again; if this persists, see{' '}
      <a href="/console/replicas" className="link">
        Replicas
      </a>
      .
    </Empty>
  )
}
