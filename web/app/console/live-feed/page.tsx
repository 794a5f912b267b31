/** Live feed: the receipt of each envelope. */

import { AutoRefresh } from '../../../features/console/auto-refresh.tsx'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { LiveFeed } from '../../../features/console/live-feed/live-feed.tsx'
import { hasInbox } from '../../../features/console/monitor/snapshot.ts'
import { NeedsScript } from '../../../features/console/notices.tsx'
import { type Query, withQuery } from '../../../features/console/routes.ts'

export const metadata = { title: 'Live feed · Console' }

type Props = { searchParams: Promise<Query> }

export default async function LiveFeedPage({ searchParams }: Props) {
  const data = await requireConsoleData(withQuery('/console/live-feed', await searchParams))
  const snapshot = await data.snapshot()
  const isAnswered = snapshot.replicas.some(({ state }) => state === 'responding')
  return (
    <ConsoleShell at="feed" title="Live feed">
      {!isAnswered && <AutoRefresh />}
      <NeedsScript />
      <LiveFeed hasInbox={hasInbox(snapshot)} isAnswered={isAnswered} />
    </ConsoleShell>
  )
}
