/** Spool: pending envelopes, those that were not delivered, kept ones, and the operator's actions on them. */

import type { Rejections } from 'contract/admin-api'
import type { Deployment } from 'contract/situation/deployments'
import type { UpstreamView } from 'contract/situation/upstreams'
import type { SpoolStatus } from 'contract/spool'
import type { ResendJob } from 'contract/store'
import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { type ConsoleData, requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { hasInbox, summarise } from '../../../features/console/monitor/snapshot.ts'
import { NoReplica, Notices } from '../../../features/console/notices.tsx'
import { type Query, withQuery } from '../../../features/console/routes.ts'
import { EndedFilter, States } from '../../../features/console/spool/ended-filter.tsx'
import {
  EntryList,
  type EntryPage,
  isResending,
  ResendPanel,
} from '../../../features/console/spool/entry-list.tsx'
import { ActionResult, ProjectsPanel, SpoolPanel } from '../../../features/console/spool/pending-entries.tsx'
import {
  entriesQuery,
  readSpoolQuery,
  resendRequest,
  SPOOL,
  type SpoolQuery,
  stateOf,
} from '../../../features/console/spool/spool-query.ts'

export const metadata = { title: 'Spool · Console' }

type Props = { searchParams: Promise<Query> }

const RESENDING_MS = 2_000 // between refreshes that show its progress

export default async function SpoolPage({ searchParams }: Props) {
  const given = await searchParams
  const data = await requireConsoleData(withQuery(SPOOL, given))
  const query = readSpoolQuery(given)
  const state = stateOf(query)
  const hasReasons = state !== 'pending' && state !== 'kept'
  const [snapshot, details] = await Promise.all([data.snapshot(), hasReasons ? data.rejections() : undefined])
  const { spool, projects } = snapshot
  const view = await readView(data, query)
  return (
    <ConsoleShell at="spool" title="Spool">
      <AutoRefresh {...(isResending(view.job) && { everyMs: RESENDING_MS })} />
      <div className="grid grid-cols-1 gap-4">
        <Notices {...summarise(snapshot, {})} />
        <ActionResult query={query} />
        <States shown={state} />
        {state !== 'pending' && <EndedFilter key={state} {...{ state, query, projects }} />}
        {spool ? (
          <View
            {...{ spool, view, query }}
            upstreams={snapshot.upstreams}
            settings={details?.settings ?? {}}
            deployment={snapshot.situation.deployment}
            isKeeping={hasInbox(snapshot)}
          />
        ) : (
          <NoReplica />
        )}
      </div>
    </ConsoleShell>
  )
}

/** Page of entries, and the last resend. */
type SpoolView = { list: EntryPage; job: ResendJob | undefined }

async function readView({ spool: data, settings }: ConsoleData, query: SpoolQuery): Promise<SpoolView> {
  const request = settings.sentryHost === undefined ? undefined : resendRequest(query)
  const [status, page, resend] = await Promise.all([
    data.resendStatus(),
    data.list(entriesQuery(query)),
    request && data.countResend(request).then((counted) => counted ?? ('unknown' as const)),
  ])
  return { list: { page, resend }, job: status?.job }
}

type ViewProps = {
  spool: SpoolStatus
  view: SpoolView
  query: SpoolQuery
  upstreams: UpstreamView[]
  settings: Rejections['settings']
  deployment: Deployment | undefined
  isKeeping: boolean
}

function View({ spool, view: { list, job }, query, ...context }: ViewProps) {
  const isPending = stateOf(query) === 'pending'
  const isShown = job && (!isPending || isResending(job))
  return (
    <div className="grid grid-cols-1 gap-4">
      {isShown && <ResendPanel spool={spool.id} job={job} query={query} />}
      {isPending && <SpoolPanel spool={spool} />}
      {isPending && <ProjectsPanel spool={spool} query={query} />}
      <EntryList {...{ spool, list, query }} {...context} />
    </div>
  )
}
