/** Set-up: where reports go, the code for a site, and its first envelope. */

import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import type { Snapshot } from '../../../features/console/monitor/replica-monitor.ts'
import { hasInbox } from '../../../features/console/monitor/snapshot.ts'
import { NeedsScript } from '../../../features/console/notices.tsx'
import { SETUP } from '../../../features/console/routes.ts'
import { AlertsPanel } from '../../../features/console/setup/alerts-panel.tsx'
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
        deployment={snapshot.situation.deployment}
      />
      <div className="mt-4 noscript:hidden">
        <AlertsPanel destinations={alertDestinations(snapshot)} />
      </div>
    </ConsoleShell>
  )
}

/** Returns the destinations as the tunnels show them; `undefined` while none responds. */
function alertDestinations({ replicas }: Snapshot): string | undefined {
  const shown = replicas.find(({ status }) => status?.settings.ALERT_URL !== undefined)?.status?.settings
  return shown?.ALERT_URL?.replace(/^–$/, '')
}
