/** One page of the documentation. */

import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { ConsoleShell } from '../../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../../features/console/data-access/data-access.ts'
import { readPage } from '../../../../features/console/docs/docs.ts'
import { Document } from '../../../../features/console/docs/document.tsx'
import { DOCS } from '../../../../features/console/routes.ts'

type Props = { params: Promise<{ page: string }> }

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  return { title: `${readPage((await params).page)?.title ?? 'Not found'} · Documentation` }
}

export default async function DocsPage({ params }: Props) {
  const name = (await params).page
  await requireConsoleData(`${DOCS}/${name}`)
  const page = readPage(name) ?? notFound()
  return (
    <ConsoleShell at="docs" title={page.title}>
      <Document page={page} />
    </ConsoleShell>
  )
}
