/** Inbox envelope. */

import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { cache } from 'react'
import { ConsoleShell } from '../../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../../features/console/data-access/data-access.ts'
import { modelEnvelope } from '../../../../features/console/inbox/envelope-model.ts'
import { EnvelopeView } from '../../../../features/console/inbox/envelope-view.tsx'
import { type Query, readOffset, withQuery } from '../../../../features/console/routes.ts'

type Props = { params: Promise<{ id: string }>; searchParams: Promise<Query> }

export async function generateMetadata(props: Props): Promise<Metadata> {
  const { model } = await readPage(props)
  return { title: `${model.title} · Inbox · Console` }
}

export default async function EnvelopePage(props: Props) {
  const { id, model, from, replay } = await readPage(props)
  return (
    <ConsoleShell at="inbox" title={model.title}>
      <EnvelopeView id={id} model={model} from={from} replay={replay} />
    </ConsoleShell>
  )
}

async function readPage({ params, searchParams }: Props) {
  const [{ id }, query] = [await params, await searchParams]
  const from = readOffset(query.from)
  return { id, from, ...(await readEnvelope(id, from, withQuery(`/console/inbox/${id}`, query))) }
}

/** Reads an envelope once per request, for the title and the page. */
const readEnvelope = cache(async (id: string, from: number, path: string) => {
  const data = await requireConsoleData(path)
  const envelope = await data.inbox.envelope(id)
  if (!envelope) notFound()
  const model = await modelEnvelope(envelope.start, envelope.bytes, from, data.sourceFolders())
  return { model, replay: model.replay === undefined ? undefined : await data.inbox.replay(model.replay) }
})
