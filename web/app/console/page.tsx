/** Overview page of the console. */

import { ConsoleShell } from '../../features/console/console-shell.tsx'
import { consoleFor } from '../../features/console/data-access.ts'
import { overviewOf } from '../../features/console/monitor/snapshot.ts'
import { Overview } from '../../features/console/overview/overview.tsx'
import { CONSOLE } from '../../features/console/routes.ts'

export const metadata = { title: 'Overview · Console' }

export default async function OverviewPage() {
  const door = await consoleFor(CONSOLE)
  return (
    <ConsoleShell at="overview" title="Overview">
      <Overview first={overviewOf(await door.look())} past={door.history()} />
    </ConsoleShell>
  )
}
