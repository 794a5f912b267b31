/** Inbox: groups of stored envelopes, or the envelopes of one group. */

import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { InboxList, NoInboxReason } from '../../../features/console/inbox/inbox-list.tsx'
import { DAY, INBOX, readInboxQuery, stepsUntil } from '../../../features/console/inbox/inbox-query.ts'
import { type Query, withQuery } from '../../../features/console/routes.ts'
import { ActionToast } from '../../../features/console/shell/toasts.tsx'

export const metadata = { title: 'Inbox · Console' }

type Props = { searchParams: Promise<Query> }

export default async function InboxPage({ searchParams }: Props) {
  const given = await searchParams
  const data = await requireConsoleData(withQuery(INBOX, given))
  const after = typeof given.after === 'string' ? given.after : undefined
  const query = readInboxQuery(given)
  const isOneGroup = query.group !== undefined
  const [groups, entries] = await Promise.all([
    data.inbox.groups(query, isOneGroup ? undefined : after, stepsUntil(Date.now(), DAY)),
    isOneGroup ? data.inbox.entries(query, after) : undefined,
  ])
  return (
    <ConsoleShell at="inbox" title="Inbox">
      <AutoRefresh />
      {given.did === 'delete' && <ActionToast text="The envelope was deleted." parameters={['did']} />}
      {groups.groups && (entries || !isOneGroup) ? (
        <InboxList {...{ query, groups, entries, after }} isLabOn={data.settings.lab} />
      ) : (
        <NoInboxReason isOff={groups.groups === undefined && groups.isOff} />
      )}
    </ConsoleShell>
  )
}
