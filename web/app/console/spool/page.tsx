/** Spool: pending envelopes, and the operator's actions on them. */

import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { summarise } from '../../../features/console/monitor/snapshot.ts'
import { NoReplica, Notices } from '../../../features/console/notices.tsx'
import { type Query, withQuery } from '../../../features/console/routes.ts'
import { SpoolEntries } from '../../../features/console/spool/spool-entries.tsx'
import { ActionResult, ProjectsPanel, SpoolPanel } from '../../../features/console/spool/spool-panel.tsx'
import { listQuery, readSpoolQuery, SPOOL } from '../../../features/console/spool/spool-query.ts'

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
        {spools.length === 0 && <NoReplica />}
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
