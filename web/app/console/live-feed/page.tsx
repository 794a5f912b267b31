/** Live feed: the receipt of each envelope. */

import { Suspense } from 'react'
import { ConsoleShell } from '../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../features/console/data-access/data-access.ts'
import { LiveFeed } from '../../../features/console/live-feed/live-feed.tsx'
import { hasInbox } from '../../../features/console/monitor/snapshot.ts'
import { type Query, withQuery } from '../../../features/console/routes.ts'

export const metadata = { title: 'Live feed · Console' }

type Props = { searchParams: Promise<Query> }

export default async function LiveFeedPage({ searchParams }: Props) {
  const data = await requireConsoleData(withQuery('/console/live-feed', await searchParams))
  const snapshot = await data.snapshot()
  return (
    <ConsoleShell at="feed" title="Live feed">
      <Suspense>
        <LiveFeed hasInbox={hasInbox(snapshot)} />
      </Suspense>
    </ConsoleShell>
  )
}
