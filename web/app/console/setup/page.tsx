/** Set-up: where reports go, the code for a site, and its first envelope. */

import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { hasInbox } from '../../../features/console/monitor/snapshot.ts'
import { SETUP } from '../../../features/console/routes.ts'
import { compressionsOf } from '../../../features/console/setup/destination.ts'
import { Setup } from '../../../features/console/setup/setup.tsx'

export const metadata = { title: 'Set-up · Console' }

export default async function SetupPage() {
  const data = await requireConsoleData(SETUP)
  const snapshot = await data.snapshot()
  const { replicas } = snapshot
  const { browser, dsnPlace, sentryHost, tunnelPath } = data.settings
  const configured = [...new Set([browser.dsn, ...replicas.flatMap(({ status }) => status?.dsns ?? [])])]
  return (
    <ConsoleShell at="setup" title="Set-up">
      <Setup
        {...{ configured, tunnelPath, dsnPlace }}
        hasInbox={hasInbox(snapshot)}
        hasSentry={sentryHost !== undefined}
        since={Date.now()}
        compressions={compressionsOf(replicas)}
      />
    </ConsoleShell>
  )
}
