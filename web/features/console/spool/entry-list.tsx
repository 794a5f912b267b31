/** Entries of the store in a state, in pages: why they wait or ended, the remedy, and a button that sends them again. */

import type { Rejections } from 'contract/admin-api'
import { categoryLabel } from 'contract/categories'
import type { Deployment } from 'contract/situation/deployments'
import type { UpstreamView } from 'contract/situation/upstreams'
import type { SpoolStatus } from 'contract/spool'
import type { EntryState, ResendJob, ResendStarted, StoreEntry, StorePage } from 'contract/store'
import type { ReactNode } from 'react'
import { formatBytes, formatCount, formatDuration, formatQuantity, formatRate } from '../../../lib/format.ts'
import { Button } from '../../../ui/button.tsx'
import { Empty, Panel } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import { WideTable } from '../../../ui/table.tsx'
import { findPath, withQuery } from '../routes.ts'
import { SettingLine } from '../setting-line.tsx'
import { nameReason, type Remedy, remedyOf } from './entry-reason.ts'
import { NextAttempt } from './next-attempt.tsx'
import { SpoolAction } from './spool-action.tsx'
import {
  nextPath,
  readTime,
  SPOOL,
  type SpoolQuery,
  STATE_LABELS,
  selectionOf,
  stateOf,
  type WrongQuery,
} from './spool-query.ts'

export type EntryPage = {
  /** Absent when the store does not answer. */
  page: StorePage | WrongQuery | undefined
  /** Entries that can be sent again; `unknown` when the store does not answer, and absent where there is nothing to send or no Sentry. */
  resend: ResendStarted | 'unknown' | undefined
}

type Props = {
  spool: SpoolStatus
  list: EntryPage
  query: SpoolQuery
  upstreams: readonly UpstreamView[]
  /** Settings in force, by reason. */
  settings: Rejections['settings']
  deployment: Deployment | undefined
  /** `KEEP_HOURS` is above 0. */
  isKeeping: boolean
}

export function EntryList({ spool, list, query, upstreams, settings, deployment, isKeeping }: Props) {
  const { page: response, resend } = list
  const page = response && 'entries' in response ? response : undefined
  const state = stateOf(query)
  const isPending = state === 'pending'
  return (
    <Panel
      title={isPending ? 'Spool entries' : `${STATE_LABELS[state]} entries`}
      {...(isPending && { note: <Orders query={query} /> })}
    >
      {isPending && <Filter query={query} />}
      {response && 'detail' in response && <Empty>{response.detail}</Empty>}
      {!response && (
        <Empty>
          The store did not answer, so it is unknown which entries it has. See{' '}
          <a href="/console/replicas" className="link">
            Replicas
          </a>
          .
        </Empty>
      )}
      {page?.entries.length === 0 && <NoEntries {...{ state, query, isKeeping }} />}
      {page && page.entries.length > 0 && (
        <>
          {!isPending && <p className="mb-3 max-w-prose text-note text-quiet">{MEANINGS[state]}</p>}
          <Remedies entries={page.entries} {...{ settings, deployment }} />
          {resend && <ResendAll {...{ resend, query }} spool={spool.id} />}
          <Entries
            {...{ spool, state, query, upstreams }}
            entries={page.entries}
            canResend={resend !== undefined}
          />
        </>
      )}
      {page?.next && (
        <a href={nextPath(page.next, query)} className="link-block mt-3 text-note">
          {query.order === 'oldest' ? 'Newer' : 'Older'}
        </a>
      )}
    </Panel>
  )
}

const ORDERS = [{ name: 'Newest first' }, { name: 'Oldest first', value: 'oldest' }]

function Orders({ query: { project, category, order } }: Pick<Props, 'query'>) {
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

/** Filter of pending entries, which the links of projects and categories set. */
function Filter({ query: { project, category, order } }: Pick<Props, 'query'>) {
  const filter = [project, category && categoryLabel(category)].filter(Boolean).join(', ')
  if (!filter) return null
  return (
    <p className="mb-3 text-note">
      Only {filter}.{' '}
      <a href={withQuery(SPOOL, { order })} className="link">
        Show all
      </a>
    </p>
  )
}

const MEANINGS: Readonly<Record<Exclude<EntryState, 'pending'>, string>> = {
  declined:
    'Sentry declined these envelopes, at once or when Culvert delivered them from the spool. They stay for 7 days.',
  expired: 'These envelopes were pending for longer than SPOOL_HOURS. They stay for 7 days.',
  evicted:
    'These envelopes made room in the spool for more important ones. Only these lines are left of them, for 7 days.',
  kept: 'Sentry has accepted these envelopes, or the inbox has them. If Sentry has lost some, choose the time of the loss, and send them again: they keep their event IDs.',
}

const NONE: Readonly<Record<EntryState, string>> = {
  pending: 'No pending envelopes: there is nothing to do.',
  declined: 'Sentry has declined no envelope within 7 days. There is nothing to do.',
  expired: 'No envelope has expired within 7 days. There is nothing to do.',
  evicted: 'No envelope was evicted within 7 days. There is nothing to do.',
  kept: 'No envelope has been kept yet.',
}

function NoEntries({ state, query, isKeeping }: Pick<Props, 'query' | 'isKeeping'> & { state: EntryState }) {
  const { project, from, to, after } = query
  if (state !== 'pending' && [project, from, to, after].some((given) => given !== undefined))
    return (
      <Empty>
        No {state} entry matches.{' '}
        <a href={withQuery(SPOOL, { state })} className="link">
          Show all
        </a>
      </Empty>
    )
  if (state === 'kept' && !isKeeping)
    return (
      <Empty>
        Nothing is kept: KEEP_HOURS is 0. With <code>KEEP_HOURS=24</code>, Culvert keeps the errors and
        feedback that Sentry accepts for a day, so that they can be sent again if Sentry loses them.
      </Empty>
    )
  return <Empty>{NONE[state]}</Empty>
}

/** Remedies of the entries on the page, each once. */
function Remedies({
  entries,
  settings,
  deployment,
}: Pick<Props, 'settings' | 'deployment'> & { entries: readonly StoreEntry[] }) {
  const remedies = new Map<string, Remedy>()
  for (const entry of entries) {
    const remedy = remedyOf(entry, settings)
    if (remedy) remedies.set(remedy.sentence, remedy)
  }
  if (remedies.size === 0) return null
  return (
    <section aria-label="How to mend it" className="mb-4 max-w-prose text-note">
      <h3 className="font-semibold">How to mend it</h3>
      <ul className="grid grid-cols-1 gap-3">
        {[...remedies.values()].map(({ sentence, line }) => (
          <li key={sentence} className="grid min-w-0 grid-cols-1 gap-2 wrap-anywhere">
            {sentence}
            {line && <SettingLine {...{ line, deployment }} label={line} />}
          </li>
        ))}
      </ul>
    </section>
  )
}

type ResendProps = Pick<Props, 'query'> & { spool: string; resend: ResendStarted | 'unknown' }

/** Button that sends all entries of the list again, those of later pages too. */
function ResendAll({ spool, resend, query }: ResendProps) {
  if (resend === 'unknown')
    return <p className="mb-3 text-note">The store did not say how many of them can be sent again.</p>
  if (resend.entries === 0)
    return (
      <p className="mb-3 text-note text-quiet">
        None of them can be sent again now. {describeLeftOut(resend) || 'Their content is gone.'}
      </p>
    )
  const count = formatQuantity(resend.entries, 'envelope')
  return (
    <div className="mb-3 text-note">
      <SpoolAction
        spool={spool}
        action="resend"
        selection={selectionOf(query)}
        label={resend.entries === 1 ? 'Send it again' : `Send all ${formatCount(resend.entries)} again`}
        scope={`${count} (${formatBytes(resend.bytes)})${describeFilter(query)}`}
      />
      <p className="text-quiet">{describeLeftOut(resend)}</p>
    </div>
  )
}

function describeLeftOut({ skipped, undeliverable }: ResendStarted): string {
  const recent = `${formatQuantity(skipped, 'envelope')} sent again within the last hour. Wait, or send single ones with their own buttons.`
  const stranded = `${formatQuantity(undeliverable, 'envelope')} of projects or mirrors that are not configured. Add their DSN first.`
  return [...(skipped > 0 ? [recent] : []), ...(undeliverable > 0 ? [stranded] : [])]
    .map((each) => `Left out: ${each}`)
    .join(' ')
}

function describeFilter({ project, from, to }: SpoolQuery): string {
  const isTimed = readTime(from) !== undefined || readTime(to) !== undefined
  return `${project === undefined ? '' : ` of project ${project}`}${isTimed ? ' of the chosen time' : ''}`
}

/** `isAside`: on a phone it is on the page of the entry, or in another cell. */
type Column = { name: string; isAside?: true; className?: string; cell: (entry: StoreEntry) => ReactNode }

type EntriesProps = Pick<Props, 'spool' | 'query' | 'upstreams'> & {
  state: EntryState
  entries: StoreEntry[]
  /** Entries of the state can be sent again. */
  canResend: boolean
}

const PROJECT: Column = { name: 'Project', isAside: true, cell: (entry) => entry.project }

function columnsOf({ spool, state, query, upstreams, canResend }: EntriesProps): Column[] {
  const category = (entry: StoreEntry) => categoryLabel(entry.category)
  const size = (entry: StoreEntry) => formatBytes(entry.bytes)
  if (state === 'pending')
    return [
      { name: 'Arrived', cell: (entry) => <Arrived entry={entry} /> },
      PROJECT,
      { name: 'Category', cell: category },
      { name: 'Size', className: 'whitespace-nowrap', cell: size },
      { name: 'Attempts', isAside: true, cell: ({ attempts }) => attempts },
      {
        name: 'Next attempt',
        cell: (entry) =>
          entry.leased ? 'in progress' : <NextAttempt {...{ entry, upstreams }} paused={spool.paused} />,
      },
    ]
  const resend: Column = {
    ...{ name: 'Action', className: 'wide:whitespace-nowrap' },
    cell: (entry) => <Resend {...{ entry, query }} spool={spool.id} />,
  }
  return [
    { name: 'Ended', className: 'wide:whitespace-nowrap', cell: (entry) => <Ended entry={entry} /> },
    PROJECT,
    { name: 'Category', isAside: true, cell: category },
    { name: 'Size', isAside: true, className: 'whitespace-nowrap', cell: size },
    ...(state === 'kept' ? [] : [{ name: 'Reason', cell: (entry: StoreEntry) => <Reason entry={entry} /> }]),
    ...(canResend ? [resend] : []),
  ]
}

function Entries(props: EntriesProps) {
  const { state, entries } = props
  const columns = columnsOf(props)
  const isPending = state === 'pending'
  return (
    <WideTable
      area={isPending ? 'Pending envelopes' : 'Entries, the last one first'}
      label={isPending ? 'Spool entries' : `${STATE_LABELS[state]} entries`}
      columns={columns.map(({ name, isAside, className = '' }) => ({
        ...{ name, className: isAside ? `hidden wide:table-cell ${className}` : className },
      }))}
      rows={entries.map((entry) => ({ key: entry.id, cells: columns.map(({ cell }) => cell(entry)) }))}
    />
  )
}

function Arrived({ entry: { id, received } }: { entry: StoreEntry }) {
  return (
    <a href={`${SPOOL}/${id}`} className="link inline-flex min-h-8 items-center whitespace-nowrap">
      <Ago time={received} />
    </a>
  )
}

function Ended({ entry: { ended, received, event_id: eventId } }: { entry: StoreEntry }) {
  const time = <Ago time={ended ?? received} />
  if (eventId === undefined) return <span className="inline-flex min-h-8 items-center">{time}</span>
  return (
    <a href={findPath(eventId)} className="link inline-flex min-h-8 items-center">
      {time}
    </a>
  )
}

function Reason({ entry }: { entry: StoreEntry }) {
  return (
    <span className="inline-flex min-h-8 min-w-32 items-center wrap-anywhere">
      <span>
        {nameReason(entry)}
        <span className="text-quiet wide:hidden">
          {' '}
          ({categoryLabel(entry.category)}, {formatBytes(entry.bytes)})
        </span>
      </span>
    </span>
  )
}

function Resend({ spool, entry, query }: { spool: string; entry: StoreEntry; query: SpoolQuery }) {
  const { id, state, stored, resent } = entry
  if (!stored) return <span className="inline-flex min-h-8 items-center text-quiet">content gone</span>
  return (
    <span className="-mx-4 -my-1 flex flex-wrap items-center">
      <SpoolAction
        spool={spool}
        action="resend"
        selection={{ ...selectionOf(query), id, state }}
        label="Send again"
        scope="this envelope"
        weight="light"
      />
      {resent !== undefined && (
        <span className="px-4 text-quiet">
          sent again <Ago time={resent} />
        </span>
      )}
    </span>
  )
}

export function isResending(job: ResendJob | undefined): boolean {
  return job !== undefined && job.finished === undefined && job.stopped === undefined
}

type PanelProps = { spool: string; job: ResendJob; query: SpoolQuery }

export function ResendPanel({ spool, job, query }: PanelProps) {
  const { entries, bytes, sent, bytes_sent: bytesSent } = job
  const isRunning = isResending(job)
  return (
    <Panel title="Send again" note={describeScope(job)}>
      {/* Only the state is announced: the numbers change every two seconds. */}
      <p role="status" className="text-note font-semibold">
        {describeState(job)}
      </p>
      {isRunning && (
        <progress
          aria-label="Envelopes that were put into the spool again"
          max={entries}
          value={sent}
          className="my-2 block h-2 w-full appearance-none overflow-hidden rounded-full border-0 bg-sunken [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:bg-accent"
        />
      )}
      <p className="text-note tabular-nums">
        {formatCount(sent)} of {formatCount(entries)} envelopes were put into the spool again (
        {formatBytes(bytesSent)} of {formatBytes(bytes)}). The server may still decline them: see Pending and
        Declined. {isRunning ? <Pace job={job} /> : <End job={job} />}
      </p>
      {isRunning && (
        <form method="post" action="/console/spool/act" className="mt-3 text-note">
          {Object.entries({ spool, action: 'stop', ...selectionOf(query) }).map(([name, value]) => (
            <input key={name} type="hidden" name={name} value={value} />
          ))}
          <Button type="submit" weight="quiet">
            Stop
          </Button>
        </form>
      )}
    </Panel>
  )
}

function describeScope({ state, project, event_id: eventId, from, to }: ResendJob): string {
  const words = [
    state,
    project,
    eventId && `event ${eventId}`,
    (from ?? to) !== undefined && 'of a chosen time',
  ]
  return words.filter(Boolean).join(', ')
}

function describeState({ waiting, stopped, finished }: ResendJob): string {
  if (finished !== undefined) return 'Finished'
  if (stopped !== undefined) return 'Stopped'
  return waiting === undefined ? 'Sending again' : `Waiting: ${waiting}`
}

function Pace({ job: { entries, sent, per_second: perSecond } }: { job: ResendJob }) {
  if (perSecond === 0) return null
  const left = ((entries - sent) / perSecond) * 1000
  return (
    <>
      {formatRate(perSecond)}, {formatDuration(Math.max(1000, left))} left. Live traffic goes first.
    </>
  )
}

function End({ job: { started, stopped, finished } }: { job: ResendJob }) {
  return (
    <>
      Started <Ago time={started} />, ended <Ago time={finished ?? stopped ?? started} />.
    </>
  )
}
