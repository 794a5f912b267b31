/** Set-up: where reports go, the code for a site, and its first envelope. */

import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { hasInbox } from '../../../features/console/monitor/snapshot.ts'
import { NeedsScript } from '../../../features/console/notices.tsx'
import { SETUP } from '../../../features/console/routes.ts'
import { compressionsOf } from '../../../features/console/setup/destination.ts'
import { Setup } from '../../../features/console/setup/setup.tsx'

export const metadata = { title: 'Set-up · Console' }

export default async function SetupPage() {
  const data = await requireConsoleData(SETUP)
  const [snapshot, rejections] = await Promise.all([data.snapshot(), data.rejections()])
  const { replicas } = snapshot
  const isAnswered = replicas.some(({ state }) => state === 'responding')
  const { browser, dsnPlace, sentryHost, tunnelPath } = data.settings
  const dsns = [browser.dsn, ...replicas.flatMap(({ status }) => status?.dsns ?? [])]
  return (
    <ConsoleShell at="setup" title="Set-up">
      {!isAnswered && <AutoRefresh />}
      <NeedsScript />
      <Setup
        {...{ tunnelPath, dsnPlace, rejections }}
        ownDsn={browser.dsn}
        configured={isAnswered ? [...new Set(dsns)] : undefined}
        hasInbox={hasInbox(snapshot)}
        hasSentry={sentryHost !== undefined}
        since={Date.now()}
        compressions={compressionsOf(replicas)}
      />
    </ConsoleShell>
  )
}
