/** Pending envelopes of the spool: its state, its projects, and the actions on them. */

import { categoryLabel } from 'contract/categories'
import type { SpoolPartition, SpoolStatus } from 'contract/spool'
import { formatBytes, formatCount, formatQuantity } from '../../../lib/format.ts'
import { Pages, Panel } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import { Badge } from '../../../ui/status-badge.tsx'
import { summariseSpool } from '../monitor/snapshot.ts'
import { readOffset, withQuery } from '../routes.ts'
import { ActionToast } from '../shell/toasts.tsx'
import { SpoolAction } from './spool-action.tsx'
import { listProjects, type SpoolProject } from './spool-projects.ts'
import { SPOOL, type SpoolQuery } from './spool-query.ts'
import { SpoolSummary } from './spool-summary.tsx'

export function SpoolPanel({ spool }: { spool: SpoolStatus }) {
  const { id, paused = [] } = spool
  const { envelopes: ofProjects = 0, mirrored } = summariseSpool(spool)
  const envelopes = ofProjects + mirrored
  const isPaused = paused.some(({ project }) => project === undefined)
  const scope = `${envelopes === 1 ? '' : 'all '}${formatQuantity(envelopes, 'pending envelope')}`
  const pending = { spool: id, selection: { all: '1' }, scope }
  return (
    <Panel title={isPaused ? 'Paused' : 'Pending'}>
      <SpoolSummary spool={summariseSpool(spool)} />
      <div className="mt-4 flex flex-wrap gap-3 text-note">
        <SpoolAction
          spool={id}
          action={isPaused ? 'resume' : 'pause'}
          label={isPaused ? 'Resume all' : 'Pause all'}
          scope={`all projects (${formatCount(envelopes)} pending)`}
        />
        {envelopes > 0 && (
          <>
            <SpoolAction {...pending} action="retry" label={`Retry ${scope} now`} />
            <SpoolAction {...pending} action="purge" label={`Purge ${scope}`} />
          </>
        )}
      </div>
    </Panel>
  )
}

const PAGE = 50

/** Projects with pending envelopes or paused delivery, each with its categories. */
export function ProjectsPanel({ spool, query }: { spool: SpoolStatus; query: SpoolQuery }) {
  const { project, category, order, after } = query
  const from = readOffset(query.partitions)
  const { projects, total } = listProjects(spool, from, PAGE)
  if (total === 0) return null
  return (
    <Panel title="By project">
      <ul className="grid grid-cols-1 gap-y-3 wide:grid-cols-[auto_auto_auto_1fr] wide:gap-x-6">
        {projects.map((each) => (
          <Project key={each.name} spool={spool.id} project={each} />
        ))}
      </ul>
      <Pages
        label="Pages of projects and categories"
        {...{ from, page: PAGE, total }}
        hrefOf={(offset) => withQuery(SPOOL, { project, category, order, after, partitions: offset })}
        of="categories"
      />
    </Panel>
  )
}

function Project({ spool, project }: { spool: string; project: SpoolProject }) {
  const { name, pending, isMirror, isPaused, categories, partitions } = project
  return (
    <li className="text-note tabular-nums wide:col-span-4 wide:grid wide:grid-cols-subgrid">
      <div className="flex flex-wrap items-center justify-between gap-x-4 wide:col-span-4">
        <a
          href={withQuery(SPOOL, { project: name })}
          className="link inline-flex min-h-8 min-w-0 items-center font-semibold wrap-anywhere"
        >
          {name}
        </a>
        {isMirror && <span className="text-quiet">mirror</span>}
        {isPaused && <Badge state="hold">paused</Badge>}
        {pending === 0 && <span className="text-quiet">none pending</span>}
        <div className="-mx-4">
          <SpoolAction
            {...{ spool, selection: { project: name }, weight: 'light' }}
            action={isPaused ? 'resume' : 'pause'}
            label={isPaused ? 'Resume project' : 'Pause project'}
            scope={`project ${name} (${formatCount(categories)} ${categories === 1 ? 'category' : 'categories'}, ${formatCount(pending)} pending)`}
          />
        </div>
      </div>
      {partitions.length > 0 && (
        <ul aria-label={`Categories of ${name}`} className="wide:col-span-4 wide:grid wide:grid-cols-subgrid">
          {partitions.map((partition) => (
            <Category key={partition.category} spool={spool} partition={partition} />
          ))}
        </ul>
      )}
    </li>
  )
}

function Category({ spool, partition }: { spool: string; partition: SpoolPartition }) {
  const { project, category, envelopes, bytes, oldest } = partition
  const count = formatQuantity(envelopes, 'envelope')
  const scope = `${count} of project ${project}, category ${categoryLabel(category)}`
  const common = { spool, selection: { project, category }, scope, weight: 'light' } as const
  return (
    <li className="flex flex-wrap items-center gap-x-4 border-t border-line wide:col-span-4 wide:grid wide:grid-cols-subgrid">
      <a
        href={withQuery(SPOOL, { project, category })}
        className="link inline-flex min-h-8 min-w-0 items-center wrap-anywhere"
      >
        {categoryLabel(category)}
      </a>
      <span className="wide:text-right">{count}</span>
      <span className="wide:text-right">{formatBytes(bytes)}</span>
      <div className="flex flex-wrap items-center gap-x-4">
        {oldest && (
          <span className="text-quiet">
            oldest <Ago time={oldest} />
          </span>
        )}
        <span className="-mx-4 flex flex-wrap items-center wide:ml-auto">
          <SpoolAction {...common} action="retry" label={`Retry ${count}`} />
          <SpoolAction {...common} action="purge" label={`Purge ${count}`} />
        </span>
      </div>
    </li>
  )
}

const RESULTS: Record<string, (count: string, left: number) => string> = {
  retry: (count) => `${count} will be retried now.`,
  purge: (count, left) => `${count} ${count === '1' ? 'was' : 'were'} purged.${describeRest(left)}`,
  pause: () =>
    'Delivery from the spool is paused. New envelopes are still sent to Sentry first; those that Sentry does not accept stay in the spool.',
  resume: () => 'Delivery from the spool is resumed.',
  failed: () => 'The action failed: the entry is no longer pending, or no replica responded. Check the list.',
  resend: (count) => (count === '0' ? NOTHING_RESENT : `${count} will be sent again.`),
  stop: () => 'Stopped. Envelopes that are pending again already are still delivered.',
  'not-resent': () =>
    'Nothing was sent again: the entry is gone or pending already, its project is not configured, a share of the spool is used up, or another resend is running.',
  'not-stopped': () => 'There was nothing to stop: no envelopes are being sent again.',
  'other-store': () =>
    'Nothing was done: most tunnels use another store now than the one that the page showed. Check the list, and repeat the action.',
  unanswered: () =>
    'No response: the action may be complete or still running. Check the list before you repeat it.',
}

const NOTHING_RESENT =
  'Nothing to send again: no envelope matches, or all were sent again within the last hour.'

function describeRest(left: number): string {
  if (left === 0) return ''
  return left === 1
    ? ' One more is pending: purge again.'
    : ` ${formatCount(left)} more are pending: purge again.`
}

/** States the result of the action that led to this page. */
export function ActionResult({ query: { did, count, left } }: { query: SpoolQuery }) {
  const describe = did !== undefined && Object.hasOwn(RESULTS, did) ? RESULTS[did] : undefined
  if (!describe) return null
  const affected = readCount(count)
  return (
    <ActionToast
      text={describe(affected === undefined ? 'Some' : formatCount(affected), readCount(left) ?? 0)}
      parameters={['did', 'count', 'left']}
    />
  )
}

function readCount(text: string | undefined): number | undefined {
  return /^\d{1,9}$/.test(text ?? '') ? Number(text) : undefined
}
