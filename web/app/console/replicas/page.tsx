/** The processes that carry it. */

import { consoleFor } from '../../../lib/console/console.ts'
import { ReplicaTable } from '../../../ui/console/replica-table.tsx'
import { ConsoleShell } from '../../../ui/console/shell.tsx'

export const metadata = { title: 'Replicas · Console' }

export default async function ReplicasPage() {
  const door = await consoleFor('/console/replicas')
  return (
    <ConsoleShell at="replicas" title="Replicas">
      <ReplicaTable first={await door.look()} />
    </ConsoleShell>
  )
}
