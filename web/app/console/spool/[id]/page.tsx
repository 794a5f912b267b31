/** Spool entry. */

import type { SpoolEntryDetails } from 'contract/store'
import { notFound } from 'next/navigation'
import { ConsoleShell } from '../../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../../features/console/data-access/data-access.ts'
import { type Query, withQuery } from '../../../../features/console/routes.ts'
import { LargeSpoolEntry, SpoolEntry } from '../../../../features/console/spool/spool-entry.tsx'

export const metadata = { title: 'Spool entry · Console' }

type Props = { params: Promise<{ id: string }>; searchParams: Promise<Query> }

export default async function SpoolEntryPage({ params, searchParams }: Props) {
  const [{ id }, query] = [await params, await searchParams]
  const data = await requireConsoleData(withQuery(`/console/spool/${id}`, query))
  const [entry, { spool }] = await Promise.all([data.spool.entry(id), data.snapshot()])
  if (!entry) notFound()
  return entry === 'too large' ? (
    <ConsoleShell at="spool" title="Spool entry">
      <LargeSpoolEntry id={id} spool={spool?.id ?? ''} />
    </ConsoleShell>
  ) : (
    <ConsoleShell at="spool" title={titleOf(entry)}>
      <SpoolEntry id={id} entry={entry} />
    </ConsoleShell>
  )
}

function titleOf({ category, project }: SpoolEntryDetails): string {
  return category === 'none' ? `Spool entry of ${project}` : `Spool entry: ${category} of ${project}`
}
