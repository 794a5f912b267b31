/** Inbox: stored envelopes, all or of one kind. */

import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { INBOX, InboxList } from '../../../features/console/inbox/inbox-list.tsx'
import { KINDS } from '../../../features/console/inbox/title.ts'
import { type Query, withQuery } from '../../../features/console/routes.ts'
import { ActionToast } from '../../../features/console/shell/toasts.tsx'
import { Empty } from '../../../ui/panel.tsx'

export const metadata = { title: 'Inbox · Console' }

type Props = { searchParams: Promise<Query> }

export default async function InboxPage({ searchParams }: Props) {
  const query = await searchParams
  const data = await requireConsoleData(withQuery(INBOX, query))
  const after = typeof query.after === 'string' ? query.after : undefined
  const type = KINDS.find((kind) => kind.type === query.type)?.type
  const list = await data.inbox.list(after, type)
  return (
    <ConsoleShell at="inbox" title="Inbox">
      {query.did === 'delete' && <ActionToast text="The envelope was deleted." parameters={['did']} />}
      {list ? (
        <InboxList
          {...{ type, entries: list.entries, next: list.next }}
          isFirstPage={!after}
          isLabOn={data.settings.lab}
        />
      ) : (
        <Empty>
          No replica has an inbox. The inbox is on when SENTRY_DSN is not set; with SENTRY_DSN, INBOX=on turns
          it on.
        </Empty>
      )}
    </ConsoleShell>
  )
}
