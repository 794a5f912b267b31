/** Deletes one envelope from the inbox. */

import { getConsoleData } from '../../../../../features/console/data-access/data-access.ts'
import { INBOX } from '../../../../../features/console/inbox/inbox-query.ts'
import { notSignedIn, notThisSite, seeOther } from '../../../../../features/console/responses.ts'
import { withQuery } from '../../../../../features/console/routes.ts'
import { isSameSite } from '../../../../../features/console/session/session.ts'

type Context = { params: Promise<{ id: string }> }

export async function POST(request: Request, { params }: Context): Promise<Response> {
  const data = await getConsoleData()
  if (!data) return notSignedIn()
  if (!isSameSite(request)) return notThisSite()
  return seeOther(withQuery(INBOX, { did: await data.inbox.delete((await params).id) }))
}
