/** Redirects from an event ID to its envelope in the inbox, or else to its receipts. */

import { redirect } from 'next/navigation'
import { requireConsoleData } from '../../../../../features/console/data-access/data-access.ts'
import { INBOX } from '../../../../../features/console/inbox/inbox-query.ts'
import { withQuery } from '../../../../../features/console/routes.ts'

type Props = { params: Promise<{ event: string }> }

export default async function EventPage({ params }: Props): Promise<never> {
  const { event } = await params
  const data = await requireConsoleData(`${INBOX}/by-event/${event}`)
  const id = await data.inbox.findEvent(event)
  redirect(id === undefined ? withQuery('/console/live-feed', { text: event }) : `${INBOX}/${id}`)
}
