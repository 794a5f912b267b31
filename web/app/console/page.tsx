/** Overview page of the console. */

import { ConsoleShell } from '../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../features/console/data-access/data-access.ts'
import { summarise } from '../../features/console/monitor/snapshot.ts'
import { Overview } from '../../features/console/overview/overview.tsx'
import { LIVE_RANGE, readRange } from '../../features/console/overview/range/range.ts'
import { CONSOLE, type Query, withQuery } from '../../features/console/routes.ts'

export const metadata = { title: 'Overview · Console' }

type Props = { searchParams: Promise<Query> }

export default async function OverviewPage({ searchParams }: Props) {
  const query = await searchParams
  const data = await requireConsoleData(withQuery(CONSOLE, query))
  const range = readRange(query.range)
  const [snapshot, history, stored, reach] = await Promise.all([
    data.snapshot(),
    data.history(),
    range === LIVE_RANGE ? undefined : data.storedHistory(range.key),
    data.reach(),
  ])
  return (
    <ConsoleShell at="overview" title="Overview">
      <Overview
        first={summarise(snapshot)}
        history={history}
        rangeKey={range.key}
        reach={reach}
        {...stored}
      />
    </ConsoleShell>
  )
}
