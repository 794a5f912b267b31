/** State of one spool, its pending envelopes by project, and the actions on them. */

import type { SpoolPartition, SpoolStatus } from 'tunnel/contract'
import { formatBytes, formatCount, formatQuantity } from '../../../lib/format.ts'
import { Pages } from '../../../ui/pagination.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { Ago } from '../../../ui/relative-time.tsx'
import { Badge } from '../../../ui/status-badge.tsx'
import { summariseSpool } from '../monitor/snapshot.ts'
import { categoryLabel } from '../outcomes.ts'
import { readOffset, withQuery } from '../routes.ts'
import { SpoolAction } from './spool-action.tsx'
import { SPOOL, type SpoolQuery } from './spool-query.ts'
import { SpoolSummary } from './spool-summary.tsx'

export function SpoolPanel({ spool }: { spool: SpoolStatus }) {
  const { id, envelopes = 0, paused = [] } = spool
  const isPaused = paused.some(({ project }) => project === undefined)
  return (
    <Panel title={isPaused ? 'Paused' : 'Pending'} note={`spool ${id.slice(0, 8)}`}>
      <SpoolSummary spool={summariseSpool(spool)} />
      <div className="mt-4 flex flex-wrap gap-3 text-note">
        <SpoolAction
          spool={id}
          action={isPaused ? 'resume' : 'pause'}
          label={isPaused ? 'Resume all' : 'Pause all'}
        />
        {envelopes > 0 && (
          <>
            <SpoolAction spool={id} action="retry" selection={{ all: '1' }} label="Retry all now" />
            <SpoolAction spool={id} action="purge" selection={{ all: '1' }} label="Purge all" />
          </>
        )}
      </div>
    </Panel>
  )
}

const PAGE = 50

export function PartitionsPanel({ spool, query }: { spool: SpoolStatus; query: SpoolQuery }) {
  const { id, partitions = [], paused = [] } = spool
  if (partitions.length === 0) return null
  const { project, category, order, after } = query
  const from = readOffset(query.partitions)
  return (
    <Panel title="By project">
      <ul className="grid grid-cols-1 wide:grid-cols-[auto_auto_auto_auto_1fr] wide:gap-x-6">
        {partitions.slice(from, from + PAGE).map((partition) => (
          <Partition
            key={`${partition.project} ${partition.category}`}
            spool={id}
            partition={partition}
            isPaused={paused.some((pause) => pause.project === partition.project)}
          />
        ))}
      </ul>
      <Pages
        label="Pages of pending envelopes by project"
        {...{ from, page: PAGE, total: partitions.length }}
        hrefOf={(offset) => withQuery(SPOOL, { project, category, order, after, partitions: offset })}
        of="projects"
      />
    </Panel>
  )
}

type PartitionProps = { spool: string; partition: SpoolPartition; isPaused: boolean }

function Partition({ spool, partition, isPaused }: PartitionProps) {
  const { project, category, envelopes, bytes, oldest } = partition
  return (
    <li className="flex flex-wrap items-center gap-x-4 border-t border-line text-note tabular-nums first:border-t-0 wide:col-span-5 wide:grid wide:grid-cols-subgrid">
      <a
        href={withQuery(SPOOL, { project, category })}
        className="link inline-flex min-h-8 min-w-0 basis-full items-center wrap-anywhere wide:basis-auto"
      >
        {project}, {categoryLabel(category)}
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
          {...{ spool, selection: { project }, weight: 'light' }}
          action={isPaused ? 'resume' : 'pause'}
          label={isPaused ? 'Resume' : 'Pause'}
        />
        <SpoolAction
          {...{ spool, selection: { project, category }, weight: 'light' }}
          action="retry"
          label="Retry"
        />
        <SpoolAction
          {...{ spool, selection: { project, category }, weight: 'light' }}
          action="purge"
          label="Purge"
        />
      </span>
    </li>
  )
}

const RESULTS: Record<string, (count: string, left: number) => string> = {
  retry: (count) => `${count} will be retried now.`,
  purge: (count, left) => `${count} ${count === '1' ? 'was' : 'were'} purged.${describeRest(left)}`,
  pause: () => 'Delivery is paused. New envelopes stay in the spool until delivery is resumed.',
  resume: () => 'Delivery is resumed.',
  failed: () => 'The action failed: the entry is no longer pending, or no replica responded. Check the list.',
  unanswered: () =>
    'No response: the action may be complete or still running. Check the list before you repeat it.',
}

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
    <p role="status" className="rounded-part border border-line bg-sunken px-4 py-3">
      {describe(affected === undefined ? 'Some' : formatCount(affected), readCount(left) ?? 0)}
    </p>
  )
}

function readCount(text: string | undefined): number | undefined {
  return /^\d{1,9}$/.test(text ?? '') ? Number(text) : undefined
}
