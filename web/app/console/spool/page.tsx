/** Spool: pending envelopes, and the operator's actions on them. */

import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { INBOX } from '../../../features/console/inbox/list/query.ts'
import type { Snapshot } from '../../../features/console/monitor/replica-monitor.ts'
import { summarise } from '../../../features/console/monitor/snapshot.ts'
import { NoReplica, Notices } from '../../../features/console/notices.tsx'
import { type Query, SETUP, withQuery } from '../../../features/console/routes.ts'
import { SpoolEntries } from '../../../features/console/spool/spool-entries.tsx'
import { ActionResult, ProjectsPanel, SpoolPanel } from '../../../features/console/spool/spool-panel.tsx'
import { listQuery, readSpoolQuery, SPOOL } from '../../../features/console/spool/spool-query.ts'
import { formatQuantity } from '../../../lib/format.ts'
import { Empty } from '../../../ui/panel.tsx'

export const metadata = { title: 'Spool · Console' }

type Props = { searchParams: Promise<Query> }

export default async function SpoolPage({ searchParams }: Props) {
  const given = await searchParams
  const data = await requireConsoleData(withQuery(SPOOL, given))
  const query = readSpoolQuery(given)
  const snapshot = await data.snapshot()
  const { spools } = snapshot
  const lists = await Promise.all(spools.map(({ id }) => data.spool.list(id, listQuery(id, query))))
  return (
    <ConsoleShell at="spool" title="Spool">
      <AutoRefresh />
      <div className="grid grid-cols-1 gap-4">
        <Notices {...summarise(snapshot, {})} />
        <ActionResult query={query} />
        {spools.length === 0 && (hasResponse(snapshot) ? <NoSentry {...snapshot} /> : <NoReplica />)}
        {spools.map((spool, index) => (
          <div key={spool.id} className="grid grid-cols-1 gap-4">
            <SpoolPanel spool={spool} />
            <ProjectsPanel spool={spool} query={query} />
            <SpoolEntries spool={spool.id} list={lists[index]} query={query} />
          </div>
        ))}
      </div>
    </ConsoleShell>
  )
}

function hasResponse({ replicas }: Snapshot): boolean {
  return replicas.some(({ state }) => state === 'responding')
}

/** Empty state in inbox mode. */
function NoSentry({ simulatedOutage }: Pick<Snapshot, 'simulatedOutage'>) {
  if (simulatedOutage)
    return (
      <Empty>
        {formatQuantity(simulatedOutage.pending, 'envelope')} pending in the spool of the simulated outage.
        Culvert delivers them to the{' '}
        <a href={INBOX} className="link">
          inbox
        </a>{' '}
        when the outage ends. They cannot be retried, paused or purged here.
      </Empty>
    )
  return (
    <Empty>
      Nothing is pending: SENTRY_DSN is not set, so envelopes go to the{' '}
      <a href={INBOX} className="link">
        inbox
      </a>{' '}
      at once. Culvert spools envelopes while a Sentry is unreachable; to forward to one, see{' '}
      <a href={SETUP} className="link">
        Set-up
      </a>
      .
    </Empty>
  )
}
