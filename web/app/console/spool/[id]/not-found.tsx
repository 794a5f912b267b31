/** Page for an envelope that is not pending. */

import { ConsoleShell } from '../../../../features/console/console-shell.tsx'
import { SPOOL } from '../../../../features/console/spool/spool-query.ts'
import { Empty } from '../../../../ui/panel.tsx'

export default function EntryNotFound() {
  return (
    <ConsoleShell at="spool" title="No longer pending">
      <Empty>
        The spool does not contain this envelope any more, or no replica responds. Its receipt in the{' '}
        <a href="/console/live-feed" className="link">
          live feed
        </a>{' '}
        has the final outcome.{' '}
        <a href={SPOOL} className="link">
          Show the spool
        </a>
      </Empty>
    </ConsoleShell>
  )
}
