/** A kept envelope, unmodified, as a download that nothing may run. Its policy is set where all are, in `proxy.ts`. */

import { openConsole } from '../../../../../features/console/data-access.ts'
import { envelopeFile, notSignedIn } from '../../../../../features/console/responses.ts'

export async function GET(
  _request: Request,
  { params }: { params: Promise<{ id: string }> },
): Promise<Response> {
  const door = await openConsole()
  if (!door) return notSignedIn()
  const { id } = await params
  const envelope = await door.envelopeDownload(id)
  if (!envelope) return Response.json({ detail: 'It is no longer in the inbox.' }, { status: 404 })
  return envelopeFile(id, envelope)
}
