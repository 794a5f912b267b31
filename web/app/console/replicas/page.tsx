/** The processes that carry it. */

import { consoleFor } from '../../../lib/console/console.ts'
import { glanceAt } from '../../../lib/console/glance.ts'
import { ReplicaTable } from '../../../ui/console/replica-table.tsx'
import { ConsoleShell } from '../../../ui/console/shell.tsx'

export const metadata = { title: 'Replicas · Console' }

export default async function ReplicasPage() {
  const door = await consoleFor('/console/replicas')
  return (
    <ConsoleShell at="replicas" title="Replicas">
      <ReplicaTable first={glanceAt(await door.look())} />
    </ConsoleShell>
  )
}
