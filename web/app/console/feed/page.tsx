/** Every envelope's receipt, as it is settled. */

import { Suspense } from 'react'
import { consoleFor } from '../../../lib/console/console.ts'
import { type Query, withQuery } from '../../../lib/console/places.ts'
import { Feed } from '../../../ui/console/feed.tsx'
import { ConsoleShell } from '../../../ui/console/shell.tsx'

export const metadata = { title: 'Feed · Console' }

type Props = { searchParams: Promise<Query> }

export default async function FeedPage({ searchParams }: Props) {
  await consoleFor(withQuery('/console/feed', await searchParams))
  return (
    <ConsoleShell at="feed" title="Feed">
      <Suspense>
        <Feed />
      </Suspense>
    </ConsoleShell>
  )
}
