/** Redirects from an event ID to its envelope in the inbox, or else to its receipts. */

import { requireConsoleData } from '../../../../../features/console/data-access/data-access.ts'
import { INBOX } from '../../../../../features/console/inbox/list/query.ts'
import { seeOther } from '../../../../../features/console/responses.ts'
import { withQuery } from '../../../../../features/console/routes.ts'

type Context = { params: Promise<{ event: string }> }

export async function GET(_: Request, { params }: Context): Promise<Response> {
  const { event } = await params
  const data = await requireConsoleData(`${INBOX}/by-event/${encodeURIComponent(event)}`)
  const id = await data.inbox.findEvent(event)
  return seeOther(
    id === undefined
      ? withQuery('/console/live-feed', { text: event })
      : `${INBOX}/${encodeURIComponent(id)}`,
  )
}
