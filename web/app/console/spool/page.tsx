/** Spool: pending envelopes, those that were not delivered, kept ones, and the operator's actions on them. */

import type { Rejections } from 'contract/admin-api'
import type { Deployment } from 'contract/situation/deployments'
import type { UpstreamView } from 'contract/situation/upstreams'
import type { SpoolStatus } from 'contract/spool'
import type { ResendJob, StorePage } from 'contract/store'
import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { type ConsoleData, requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { hasInbox, summarise } from '../../../features/console/monitor/snapshot.ts'
import { NoReplica, Notices } from '../../../features/console/notices.tsx'
import { type Query, withQuery } from '../../../features/console/routes.ts'
import {
  EndedEntries,
  type EndedList,
  isResending,
  ResendPanel,
} from '../../../features/console/spool/ended-entries.tsx'
import { EndedFilter, States } from '../../../features/console/spool/ended-filter.tsx'
import {
  ActionResult,
  ProjectsPanel,
  SpoolEntries,
  SpoolPanel,
} from '../../../features/console/spool/pending-entries.tsx'
import {
  type EndedState,
  endedQuery,
  endedState,
  listQuery,
  readSpoolQuery,
  resendRequest,
  SPOOL,
  type SpoolQuery,
} from '../../../features/console/spool/spool-query.ts'

export const metadata = { title: 'Spool · Console' }

type Props = { searchParams: Promise<Query> }

const RESENDING_MS = 2_000 // between refreshes that show its progress

export default async function SpoolPage({ searchParams }: Props) {
  const given = await searchParams
  const data = await requireConsoleData(withQuery(SPOOL, given))
  const query = readSpoolQuery(given)
  const state = endedState(query)
  const [snapshot, details] = await Promise.all([data.snapshot(), state && data.rejections()])
  const { spools, projects } = snapshot
  const views = await Promise.all(spools.map((spool) => readView(data, spool, query, state)))
  return (
    <ConsoleShell at="spool" title="Spool">
      <AutoRefresh {...(views.some(({ job }) => isResending(job)) && { everyMs: RESENDING_MS })} />
      <div className="grid grid-cols-1 gap-4">
        <Notices {...summarise(snapshot, {})} />
        <ActionResult query={query} />
        <States shown={state} />
        {state && <EndedFilter key={state} {...{ state, query, projects }} />}
        {spools.length === 0 && <NoReplica />}
        {views.map((view) => (
          <View
            key={view.spool.id}
            {...{ view, query }}
            upstreams={snapshot.upstreams}
            settings={details?.settings ?? {}}
            deployment={snapshot.situation.deployment}
            isKeeping={hasInbox(snapshot)}
          />
        ))}
      </div>
    </ConsoleShell>
  )
}

/** Data of one spool: its pending entries, or those in another state. */
type SpoolView = {
  spool: SpoolStatus
  pending: StorePage | undefined
  ended: EndedList | undefined
  /** Last resend. */
  job: ResendJob | undefined
}

async function readView(
  { spool: data, settings }: ConsoleData,
  spool: SpoolStatus,
  query: SpoolQuery,
  state: EndedState | undefined,
): Promise<SpoolView> {
  const { id } = spool
  const request = state && settings.sentryHost !== undefined ? resendRequest(state, query) : undefined
  const [status, pending, page, resend] = await Promise.all([
    data.resendStatus(id),
    state ? undefined : data.list(id, listQuery(id, query)),
    state && data.listEnded(id, endedQuery(id, state, query)),
    request && data.countResend(id, request).then((counted) => counted ?? ('unknown' as const)),
  ])
  return { spool, pending, ended: state && { state, page, resend }, job: status?.job }
}

type ViewProps = {
  view: SpoolView
  query: SpoolQuery
  upstreams: UpstreamView[]
  settings: Rejections['settings']
  deployment: Deployment | undefined
  isKeeping: boolean
}

function View({ view, query, upstreams, ...context }: ViewProps) {
  const { spool, pending, ended, job } = view
  const isShown = job && (ended || isResending(job))
  return (
    <div className="grid grid-cols-1 gap-4">
      {isShown && <ResendPanel spool={spool.id} job={job} query={query} />}
      {ended ? (
        <EndedEntries spool={spool.id} list={ended} query={query} {...context} />
      ) : (
        <>
          <SpoolPanel spool={spool} />
          <ProjectsPanel spool={spool} query={query} />
          <SpoolEntries {...{ spool, upstreams, query }} list={pending} />
        </>
      )}
    </div>
  )
}
