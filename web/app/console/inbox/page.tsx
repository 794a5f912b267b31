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

const RESULTS = new Map<unknown, string>([
  ['delete', 'The envelope was deleted.'],
  ['gone', 'The inbox does not have the envelope any more.'],
  ['not-deleted', 'No tunnel has said that the envelope was deleted. Check the list, and delete it again.'],
])

export default async function InboxPage({ searchParams }: Props) {
  const given = await searchParams
  const data = await requireConsoleData(withQuery(INBOX, given))
  const after = typeof given.after === 'string' ? given.after : undefined
  const query = readInboxQuery(given)
  const result = RESULTS.get(given.did)
  const isOneGroup = query.group !== undefined
  const [groups, entries] = await Promise.all([
    data.inbox.groups(query, isOneGroup ? undefined : after, stepsUntil(Date.now(), DAY)),
    isOneGroup ? data.inbox.entries(query, after) : undefined,
  ])
  return (
    <ConsoleShell at="inbox" title="Inbox">
      <AutoRefresh />
      {result && <ActionToast text={result} parameters={['did']} />}
      {groups.groups && (entries || !isOneGroup) ? (
        <InboxList {...{ query, groups, entries, after }} isLabOn={data.settings.lab} />
      ) : (
        <NoInboxReason isOff={groups.groups === undefined && groups.isOff} />
      )}
    </ConsoleShell>
  )
}
