/** Pages of the inbox: groups of envelopes, or the envelopes of one group, with search and filters. */

import type { InboxEntry, InboxGroup } from 'contract/inbox'
import { formatQuantity } from '../../../lib/format.ts'
import { Empty } from '../../../ui/panel.tsx'
import { SETUP, withQuery } from '../routes.ts'
import { FilterForm } from './list/inbox-filter-form.tsx'
import { EntryRows, GroupHead, GroupRows } from './list/inbox-rows.tsx'
import { INBOX, type InboxQuery } from './list/query.ts'
import { KINDS } from './title.ts'

export type GroupsPage = {
  groups: InboxGroup[]
  next?: string
  /** Most frequent values. */
  releases: string[]
  environments: string[]
  /** Number of replicas that did not respond, or failed. */
  failed: number
}

export type EntriesPage = Pick<GroupsPage, 'next' | 'failed'> & { entries: InboxEntry[] }

type Props = {
  query: InboxQuery
  /** With `entries`, it has the group of these alone. */
  groups: GroupsPage
  entries?: EntriesPage | undefined
  isFirstPage: boolean
  isLabOn: boolean
}

export function InboxList({ query, groups, entries, isFirstPage, isLabOn }: Props) {
  const { group: _, ...ofAll } = query
  const { releases, environments } = groups
  const [head] = groups.groups
  const failed = Math.max(groups.failed, entries?.failed ?? 0)
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
        <Kinds query={query} />
      )}
      {failed > 0 && (
        <p role="status" className="mb-4 max-w-prose text-note">
          {formatQuantity(failed, 'replica')} did not respond or failed: the page may be incomplete.
        </p>
      )}
      <FilterForm {...{ query, releases, environments }} />
      {entries && head && <GroupHead group={head} />}
      {isEmpty && <NoEnvelopes isFiltered={Object.keys(query).length > 0} isLabOn={isLabOn} />}
      {!isEmpty &&
        (entries ? (
          <EntryRows entries={entries.entries} />
        ) : (
          <GroupRows groups={groups.groups} query={ofAll} />
        ))}
      <PageLinks query={query} next={entries ? entries.next : groups.next} isFirstPage={isFirstPage} />
    </>
  )
}

type PageLinksProps = { query: InboxQuery; next: string | undefined; isFirstPage: boolean }

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

function NoEnvelopes({ isFiltered, isLabOn }: { isFiltered: boolean; isLabOn: boolean }) {
  if (isFiltered)
    return (
      <Empty>
        No envelopes match the filters.{' '}
        <a href={INBOX} className="link">
          Show all
        </a>
      </Empty>
    )
  return (
    <Empty>
      No envelopes yet.{' '}
      <a href={SETUP} className="link">
        Set up your site
      </a>
      , or try it first. <LabHint isLabOn={isLabOn} />
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

function Kinds({ query }: { query: InboxQuery }) {
  return (
    <nav aria-label="Kinds" className="-mx-3 mb-3 flex flex-wrap text-note">
      {[{ type: undefined, name: 'All' }, ...KINDS].map(({ type, name }) => (
        <a
          key={name}
          href={withQuery(INBOX, { ...query, type })}
          aria-current={type === query.type ? 'page' : undefined}
          className="inline-flex min-h-11 items-center rounded-part px-3 text-quiet no-underline hover:text-accent aria-[current]:font-semibold aria-[current]:text-ink"
        >
          {name}
        </a>
      ))}
    </nav>
  )
}
