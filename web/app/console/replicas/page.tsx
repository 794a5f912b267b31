/** Replicas: each tunnel process and its state. */

import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { consoleFor } from '../../../features/console/data-access.ts'
import { overviewOf } from '../../../features/console/monitor/snapshot.ts'
import { ReplicaTable } from '../../../features/console/replicas/replica-table.tsx'

export const metadata = { title: 'Replicas · Console' }

export default async function ReplicasPage() {
  const door = await consoleFor('/console/replicas')
  return (
    <ConsoleShell at="replicas" title="Replicas">
      <ReplicaTable first={overviewOf(await door.look())} />
    </ConsoleShell>
  )
}
