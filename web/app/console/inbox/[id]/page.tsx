/** Inbox envelope. */

import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { cache } from 'react'
import { ConsoleShell } from '../../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../../features/console/data-access/data-access.ts'
import { modelEnvelope } from '../../../../features/console/inbox/envelope-model.ts'
import { EnvelopeView } from '../../../../features/console/inbox/envelope-view.tsx'
import { readListQuery } from '../../../../features/console/inbox/inbox-query.ts'
import { type Query, readOffset, withQuery } from '../../../../features/console/routes.ts'

type Props = { params: Promise<{ id: string }>; searchParams: Promise<Query> }

export async function generateMetadata(props: Props): Promise<Metadata> {
  const { model } = await readPage(props)
  return { title: `${model.title} · Inbox · Console` }
}

export default async function EnvelopePage(props: Props) {
  const { model, data, ...page } = await readPage(props)
  const issue = await data.inbox.issue(page.id, page.list, Date.now())
  return (
    <ConsoleShell at="inbox" title={model.title}>
      <EnvelopeView model={model} issue={issue} {...page} />
    </ConsoleShell>
  )
}

async function readPage({ params, searchParams }: Props) {
  const [{ id }, query] = [await params, await searchParams]
  const from = readOffset(query.from)
  const list = readListQuery(query)
  return { id, from, list, ...(await readEnvelope(id, from, withQuery(`/console/inbox/${id}`, query))) }
}

/** Reads an envelope once per request, for the title and the page. */
const readEnvelope = cache(async (id: string, from: number, path: string) => {
  const data = await requireConsoleData(path)
  const envelope = await data.inbox.envelope(id)
  if (!envelope) notFound()
  const model = await modelEnvelope(envelope.start, envelope.bytes, from, data.sourceFolders())
  const replay = model.replay === undefined ? undefined : await data.inbox.replay(model.replay)
  return { model, replay, data }
})
