/** Overview page of the console. */

import { ConsoleShell } from '../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../features/console/data-access/data-access.ts'
import { readRange } from '../../features/console/figures/range.ts'
import { Overview } from '../../features/console/overview/overview.tsx'
import { CONSOLE, type Query, withQuery } from '../../features/console/routes.ts'

export const metadata = { title: 'Overview · Console' }

type Props = { searchParams: Promise<Query> }

export default async function OverviewPage({ searchParams }: Props) {
  const query = await searchParams
  const data = await requireConsoleData(withQuery(CONSOLE, query))
  const { sentryHost, reachTestUrl } = data.settings
  const reachTest = sentryHost === undefined ? undefined : reachTestUrl === undefined ? 'off' : 'on'
  return (
    <ConsoleShell at="overview" title="Overview">
      <Overview first={await data.live(readRange(query.range))} reachTest={reachTest} />
    </ConsoleShell>
  )
}
