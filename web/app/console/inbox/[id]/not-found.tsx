/** Page for an envelope that the inbox does not contain. */

import { ConsoleShell } from '../../../../features/console/console-shell.tsx'
import { INBOX } from '../../../../features/console/inbox/inbox-query.ts'
import { Empty } from '../../../../ui/panel.tsx'

export default function EnvelopeNotFound() {
  return (
    <ConsoleShell at="inbox" title="Not in the inbox">
      <Empty>
        The inbox does not contain this envelope: it is still in the spool, was deleted, has expired, or made
        room for newer ones.{' '}
        <a href={INBOX} className="link">
          Show the inbox
        </a>
      </Empty>
    </ConsoleShell>
  )
}
