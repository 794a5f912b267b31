/** Table of spool entries, in pages. */

import type { SpoolListEntry, SpoolPage } from 'contract/spool'
import { formatBytes } from '../../../lib/format.ts'
import { Empty, Panel } from '../../../ui/panel.tsx'
import { Ago, In } from '../../../ui/relative-time.tsx'
import { Table } from '../../../ui/table.tsx'
import { NoReplica } from '../notices.tsx'
import { categoryLabel } from '../outcomes.ts'
import { withQuery } from '../routes.ts'
import { nextPath, SPOOL, type SpoolQuery } from './spool-query.ts'

type Props = {
  spool: string
  /** Absent when no replica responds. */
  list: SpoolPage | undefined
  query: SpoolQuery
}

export function SpoolEntries({ spool, list, query }: Props) {
  const { project, category, order } = query
  const filter = [project, category && categoryLabel(category)].filter(Boolean).join(', ')
  return (
    <Panel title="Spool entries" note={<Orders query={query} />}>
      {filter && (
        <p className="mb-3 text-note">
          Only {filter}.{' '}
          <a href={withQuery(SPOOL, { order })} className="link">
            Show all
          </a>
        </p>
      )}
      {list === undefined && <NoReplica />}
      {list?.envelopes.length === 0 && <Empty>No pending envelopes: there is nothing to do.</Empty>}
      {list && list.envelopes.length > 0 && <Entries spool={spool} entries={list.envelopes} />}
      {list?.next && (
        <a href={nextPath(spool, list.next, query)} className="link-block mt-3 text-note">
          {order === 'oldest' ? 'Newer' : 'Older'}
        </a>
      )}
    </Panel>
  )
}

const ORDERS = [{ name: 'Newest first' }, { name: 'Oldest first', value: 'oldest' }]

function Orders({ query: { project, category, order } }: { query: SpoolQuery }) {
  return (
    <span className="flex flex-wrap gap-x-4">
      {ORDERS.map(({ name, value }) => (
        <a
          key={name}
          href={withQuery(SPOOL, { project, category, order: value })}
          aria-current={(value === 'oldest') === (order === 'oldest') ? 'true' : undefined}
          className="link inline-flex min-h-8 items-center aria-[current]:font-semibold aria-[current]:text-ink aria-[current]:no-underline"
        >
          {name}
        </a>
      ))}
    </span>
  )
}

/** On a phone, project and attempts are on the page of the entry only. */
const COLUMNS = [
  { name: 'Arrived' },
  { name: 'Project', className: 'hidden wide:table-cell' },
  { name: 'Category' },
  { name: 'Size' },
  { name: 'Attempts', className: 'hidden wide:table-cell' },
  { name: 'Next attempt' },
]

function Entries({ spool, entries }: { spool: string; entries: SpoolListEntry[] }) {
  const rows = entries.map((entry) => ({
    key: entry.id,
    cells: [
      <a
        key="link"
        href={`${SPOOL}/${entry.id}?spool=${spool}`}
        className="link inline-flex min-h-8 items-center whitespace-nowrap"
      >
        <Ago time={entry.received} />
      </a>,
      entry.project,
      categoryLabel(entry.category),
      formatBytes(entry.bytes),
      entry.attempts,
      <NextAttempt key="next" entry={entry} />,
    ],
  }))
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area has to be reachable by keyboard
      tabIndex={0}
      aria-label="Pending envelopes"
      className="mt-0 overflow-x-auto"
    >
      <Table label="Spool entries" columns={COLUMNS} rows={rows} />
    </section>
  )
}

function NextAttempt({ entry: { leased, due } }: { entry: SpoolListEntry }) {
  if (leased) return 'in progress'
  return due === undefined ? 'now' : <In time={due} />
}
