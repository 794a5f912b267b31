/** Set-up: where reports go, the code for a site, and its first envelope. */

import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { SETUP } from '../../../features/console/routes.ts'
import { Setup } from '../../../features/console/setup/setup.tsx'

export const metadata = { title: 'Set-up · Console' }

export default async function SetupPage() {
  const data = await requireConsoleData(SETUP)
  const { replicas } = await data.snapshot()
  const { browser, sentryHost, tunnelPath } = data.settings
  const configured = [...new Set([browser.dsn, ...replicas.flatMap(({ status }) => status?.dsns ?? [])])]
  const hasInbox = replicas.some(({ status }) => status?.settings.INBOX === 'on')
  return (
    <ConsoleShell at="setup" title="Set-up">
      <Setup
        {...{ configured, tunnelPath, hasInbox }}
        hasSentry={sentryHost !== undefined}
        since={Date.now()}
      />
    </ConsoleShell>
  )
}
