/** Overview page of the console. */

import { ConsoleShell } from '../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../features/console/data-access/data-access.ts'
import { summarise } from '../../features/console/monitor/snapshot.ts'
import { Overview } from '../../features/console/overview/overview.tsx'
import { CONSOLE } from '../../features/console/routes.ts'

export const metadata = { title: 'Overview · Console' }

export default async function OverviewPage() {
  const data = await requireConsoleData(CONSOLE)
  return (
    <ConsoleShell at="overview" title="Overview">
      <Overview first={summarise(await data.snapshot())} history={data.history()} />
    </ConsoleShell>
  )
}
