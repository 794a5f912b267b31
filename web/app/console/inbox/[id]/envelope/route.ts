/** Downloads an inbox envelope unmodified, which the browser must not run. `proxy.ts` sets its policy. */

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
  if (!envelope) return Response.json({ detail: 'The envelope is no longer in the inbox.' }, { status: 404 })
  return envelopeFile(id, envelope)
}
