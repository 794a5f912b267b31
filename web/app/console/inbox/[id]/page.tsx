/** Inbox envelope. */

import { notFound } from 'next/navigation'
import { ConsoleShell } from '../../../../features/console/console-shell.tsx'
import { requireConsoleData } from '../../../../features/console/data-access/data-access.ts'
import { modelEnvelope } from '../../../../features/console/inbox/envelope-model.ts'
import { EnvelopeView } from '../../../../features/console/inbox/envelope-view.tsx'
import { type Query, readOffset, withQuery } from '../../../../features/console/routes.ts'

export const metadata = { title: 'Envelope · Console' }

type Props = { params: Promise<{ id: string }>; searchParams: Promise<Query> }

export default async function EnvelopePage({ params, searchParams }: Props) {
  const [{ id }, query] = [await params, await searchParams]
  const data = await requireConsoleData(withQuery(`/console/inbox/${id}`, query))
  const envelope = await data.inbox.envelope(id)
  if (!envelope) notFound()
  const from = readOffset(query.from)
  const model = await modelEnvelope(envelope.start, envelope.bytes, from)
  return (
    <ConsoleShell at="inbox" title={model.title}>
      <EnvelopeView id={id} model={model} from={from} />
    </ConsoleShell>
  )
}
