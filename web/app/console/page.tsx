/** What is happening, at a glance. */

import { consoleFor } from '../../lib/console/console.ts'
import { glanceAt } from '../../lib/console/glance.ts'
import { CONSOLE } from '../../lib/console/places.ts'
import { Overview } from '../../ui/console/overview.tsx'
import { ConsoleShell } from '../../ui/console/shell.tsx'

export const metadata = { title: 'Overview · Console' }

export default async function OverviewPage() {
  const door = await consoleFor(CONSOLE)
  return (
    <ConsoleShell at="overview" title="Overview">
      <Overview first={glanceAt(await door.look())} past={door.history()} />
    </ConsoleShell>
  )
}
