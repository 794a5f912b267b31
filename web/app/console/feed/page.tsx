/** Every envelope's receipt, as it is settled. */

import { Suspense } from 'react'
import { consoleFor } from '../../../lib/console/console.ts'
import { Feed } from '../../../ui/console/feed.tsx'
import { ConsoleShell } from '../../../ui/console/shell.tsx'

export const metadata = { title: 'Feed · Console' }

type Props = { searchParams: Promise<Record<string, string | string[] | undefined>> }

export default async function FeedPage({ searchParams }: Props) {
  const wanted = Object.entries(await searchParams).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  const query = new URLSearchParams(wanted).toString()
  await consoleFor(query ? `/console/feed?${query}` : '/console/feed')
  return (
    <ConsoleShell at="feed" title="Feed">
      <Suspense>
        <Feed />
      </Suspense>
    </ConsoleShell>
  )
}
