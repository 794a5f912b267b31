/** Deletes one envelope from the inbox. */

import { openConsole } from '../../../../../features/console/data-access.ts'
import { notSignedIn, seeOther } from '../../../../../features/console/responses.ts'
import { isOurs } from '../../../../../features/console/session/same-site.ts'

export async function POST(
  request: Request,
  { params }: { params: Promise<{ id: string }> },
): Promise<Response> {
  const door = await openConsole()
  if (!door) return notSignedIn()
  if (!isOurs(request))
    return Response.json({ detail: 'Send this request from a page of this site.' }, { status: 403 })
  await door.removeEnvelope((await params).id)
  return seeOther('/console/inbox')
}
