/** Replicas: each tunnel process and its state. */

import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { RECENT } from '../../../features/console/figures/range.ts'
import { ReplicaList } from '../../../features/console/replicas/replica-list.tsx'

export const metadata = { title: 'Replicas · Console' }

export default async function ReplicasPage() {
  const data = await requireConsoleData('/console/replicas')
  return (
    <ConsoleShell at="replicas" title="Replicas">
      <ReplicaList first={await data.live(RECENT)} />
    </ConsoleShell>
  )
}
