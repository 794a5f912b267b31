/** Spool: pending envelopes, and the operator's actions on them. */

import type { SpoolListEntry, SpoolStatus } from 'tunnel/contract'
import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { consoleFor } from '../../../features/console/data-access.ts'
import { spoolAt } from '../../../features/console/monitor/snapshot.ts'
import { type Query, readPlace, withQuery } from '../../../features/console/routes.ts'
import { SpoolAction } from '../../../features/console/spool/action-button.tsx'
import { SpoolSummary } from '../../../features/console/spool/spool-summary.tsx'
import { formatBytes, formatCount, formatQuantity } from '../../../lib/format.ts'
import { Pages } from '../../../ui/pagination.tsx'
import { Empty, Panel } from '../../../ui/panel.tsx'
import { Ago, In } from '../../../ui/relative-time.tsx'
import { Badge } from '../../../ui/status-badge.tsx'

export const metadata = { title: 'Spool · Console' }

/** Query of the page. `after` holds a position for each spool; `partitions` is the offset in the list of projects. */
type Chosen = Partial<
  Record<'project' | 'category' | 'order' | 'after' | 'partitions' | 'did' | 'many' | 'left', string>
>
type Props = { searchParams: Promise<Query> }

const SPOOL = '/console/spool'

export default async function SpoolPage({ searchParams }: Props) {
  const asked = await searchParams
  const door = await consoleFor(withQuery(SPOOL, asked))
  const query = chosenIn(asked)
  const { spools } = await door.look()
  const pages = await Promise.all(spools.map((spool) => door.waiting(spool.id, pageQuery(spool.id, query))))
  return (
    <ConsoleShell at="spool" title="Spool">
      <AutoRefresh />
      <div className="grid grid-cols-1 gap-4">
        <Done query={query} />
        {spools.length === 0 && (
          <Empty>
            There is no spool. Without SENTRY_DSN, envelopes go to the inbox. If SENTRY_DSN is set, no replica
            is responding.
          </Empty>
        )}
        {spools.map((spool, index) => (
          <div key={spool.id} className="grid grid-cols-1 gap-4">
            <Depth spool={spool} />
            <Partitions spool={spool} query={query} />
            <Rows spool={spool.id} rows={pages[index]?.envelopes} next={pages[index]?.next} query={query} />
          </div>
        ))}
      </div>
    </ConsoleShell>
  )
}

function chosenIn(asked: Query): Chosen {
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => typeof value === 'string'))
}

function pageQuery(spool: string, { project, category, order, after }: Chosen): URLSearchParams {
  const place = new URLSearchParams(after).get(spool) ?? undefined
  const given = Object.entries({ project, category, order, after: place })
  return new URLSearchParams(given.filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/** Returns the path of the next page of one spool; other spools keep their positions. */
function pathOfNext(
  spool: string,
  next: string,
  { project, category, order, after, partitions }: Chosen,
): string {
  const places = new URLSearchParams(after)
  places.set(spool, next)
  return withQuery(SPOOL, { project, category, order, after: places.toString(), partitions })
}

const DONE: Record<string, (many: string, left: number) => string> = {
  retry: (many) => `${many} will be retried now.`,
  purge: (many, left) =>
    [
      `${many} ${many === '1' ? 'was' : 'were'} purged.`,
      left === 1 && 'One more is pending: purge again.',
      left > 1 && `${formatCount(left)} more are pending: purge again.`,
    ]
      .filter(Boolean)
      .join(' '),
  pause: () => 'Delivery is paused. New envelopes stay in the spool until delivery is resumed.',
  resume: () => 'Delivery is resumed.',
  failed: () => 'The action failed: the entry is no longer pending, or no replica responded. Check the list.',
  unheard: () =>
    'No response: the action may be complete or still running. Check the list before you repeat it.',
}

function Done({ query: { did, many, left } }: { query: Chosen }) {
  const describe = did === undefined ? undefined : DONE[did]
  if (!describe) return null
  const count = readCount(many)
  return (
    <p role="status" className="rounded-part border border-line bg-sunken px-4 py-3">
      {describe(count === undefined ? 'Some' : formatCount(count), readCount(left) ?? 0)}
    </p>
  )
}

function readCount(text: string | undefined): number | undefined {
  return /^\d{1,9}$/.test(text ?? '') ? Number(text) : undefined
}

function Depth({ spool }: { spool: SpoolStatus }) {
  const { id, envelopes = 0, paused = [] } = spool
  const isPaused = paused.some(({ project }) => project === undefined)
  return (
    <Panel title={isPaused ? 'Paused' : 'Pending'} note={`spool ${id.slice(0, 8)}`}>
      <SpoolSummary spool={spoolAt(spool)} />
      <div className="mt-4 flex flex-wrap gap-3 text-note">
        <SpoolAction
          spool={id}
          act={isPaused ? 'resume' : 'pause'}
          what={{}}
          label={isPaused ? 'Resume all' : 'Pause all'}
        />
        {envelopes > 0 && (
          <>
            <SpoolAction spool={id} act="retry" what={{ all: '1' }} label="Retry all now" />
            <SpoolAction spool={id} act="purge" what={{ all: '1' }} label="Purge all" />
          </>
        )}
      </div>
    </Panel>
  )
}

const PARTITIONS = 50

function Partitions({ spool, query }: { spool: SpoolStatus; query: Chosen }) {
  const { id, partitions: byProject = [], paused = [] } = spool
  if (byProject.length === 0) return null
  const { project: of, category: kind, order, after, partitions } = query
  const from = readPlace(partitions)
  return (
    <Panel title="By project">
      <ul className="grid grid-cols-1 wide:grid-cols-[auto_auto_auto_auto_1fr] wide:gap-x-6">
        {byProject.slice(from, from + PARTITIONS).map(({ project, category, envelopes, bytes, oldest }) => {
          const isPaused = paused.some((each) => each.project === project)
          return (
            <li
              key={`${project} ${category}`}
              className="flex flex-wrap items-center gap-x-4 border-t border-line text-note tabular-nums first:border-t-0 wide:col-span-5 wide:grid wide:grid-cols-subgrid"
            >
              <a
                href={`/console/spool?${new URLSearchParams({ project, category })}`}
                className="link inline-flex min-h-8 min-w-0 basis-full items-center wrap-anywhere wide:basis-auto"
              >
                {project}, {category}
              </a>
              <span className="wide:text-right">{formatQuantity(envelopes, 'envelope')}</span>
              <span className="wide:text-right">{formatBytes(bytes)}</span>
              <span className="text-quiet">
                {oldest && (
                  <>
                    oldest <Ago time={oldest} />
                  </>
                )}
              </span>
              <span className="flex flex-wrap items-center wide:justify-end">
                {isPaused && <Badge state="hold">paused</Badge>}
                <SpoolAction
                  spool={id}
                  act={isPaused ? 'resume' : 'pause'}
                  what={{ project }}
                  label={isPaused ? 'Resume' : 'Pause'}
                  weight="light"
                />
                {(['retry', 'purge'] as const).map((act) => (
                  <SpoolAction
                    key={act}
                    spool={id}
                    act={act}
                    what={{ project, category }}
                    label={act === 'retry' ? 'Retry' : 'Purge'}
                    weight="light"
                  />
                ))}
              </span>
            </li>
          )
        })}
      </ul>
      <Pages
        label="Pages of pending envelopes by project"
        {...{ from, page: PARTITIONS, all: byProject.length }}
        hrefOf={(place) => withQuery(SPOOL, { project: of, category: kind, order, after, partitions: place })}
        before="Previous projects"
        further="More projects"
      />
    </Panel>
  )
}

type RowsProps = {
  spool: string
  rows: SpoolListEntry[] | undefined
  next: string | undefined
  query: Chosen
}

function Rows({ spool, rows, next, query }: RowsProps) {
  const { project, category, order } = query
  const isOldestFirst = order === 'oldest'
  const of = [project, category].filter(Boolean).join(', ')
  return (
    <Panel
      title="Spool entries"
      note={
        <span className="flex flex-wrap gap-x-4">
          {[{ name: 'Newest first' }, { name: 'Oldest first', order: 'oldest' }].map((each) => (
            <a
              key={each.name}
              href={withQuery(SPOOL, { project, category, order: each.order })}
              aria-current={(each.order === 'oldest') === isOldestFirst ? 'true' : undefined}
              className="link inline-flex min-h-8 items-center aria-[current]:font-semibold aria-[current]:text-ink aria-[current]:no-underline"
            >
              {each.name}
            </a>
          ))}
        </span>
      }
    >
      {of && (
        <p className="mb-3 text-note">
          Only {of}.{' '}
          <a href={withQuery(SPOOL, { order })} className="link">
            Show all
          </a>
        </p>
      )}
      {rows === undefined && <Empty>The list is not available: no replica is responding.</Empty>}
      {rows?.length === 0 && <Empty>No pending envelopes.</Empty>}
      {rows && rows.length > 0 && (
        <div className="overflow-x-auto">
          <table className="w-full text-note">
            <thead>
              <tr className="text-left text-quiet">
                {['Arrived', 'Project', 'Category', 'Size', 'Attempts', 'Next attempt'].map((name) => (
                  <th key={name} className={`pr-4 pb-1 font-normal ${UNLESS_NARROW[name] ?? ''}`}>
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.id} className="border-t border-line tabular-nums">
                  <td className="py-1 pr-4 whitespace-nowrap">
                    <a
                      href={`/console/spool/${row.id}?spool=${spool}`}
                      className="link inline-flex min-h-8 items-center"
                    >
                      <Ago time={row.received} />
                    </a>
                  </td>
                  <td className={`pr-4 ${UNLESS_NARROW.Project}`}>{row.project}</td>
                  <td className="pr-4">{row.category}</td>
                  <td className="pr-4 whitespace-nowrap">{formatBytes(row.bytes)}</td>
                  <td className={`pr-4 ${UNLESS_NARROW.Attempts}`}>{row.attempts}</td>
                  <td>
                    <NextTry row={row} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {next && (
        <a
          href={pathOfNext(spool, next, query)}
          className="link mt-3 inline-flex min-h-11 items-center text-note"
        >
          {isOldestFirst ? 'Newer' : 'Older'}
        </a>
      )}
    </Panel>
  )
}

/** Columns hidden on a phone; the page of the entry shows them. */
const UNLESS_NARROW: Record<string, string> = {
  Project: 'hidden wide:table-cell',
  Attempts: 'hidden wide:table-cell',
}

function NextTry({ row: { leased, due } }: { row: SpoolListEntry }) {
  if (leased) return 'in progress'
  return due === undefined ? 'due now' : <In time={due} />
}
