/** A waiting envelope as it came, as a download that nothing may run. Its policy is set where all are, in `proxy.ts`. */

import { openConsole } from '../../../../../features/console/data-access.ts'
import { envelopeFile, notSignedIn } from '../../../../../features/console/responses.ts'

export async function GET(
  request: Request,
  { params }: { params: Promise<{ id: string }> },
): Promise<Response> {
  const door = await openConsole()
  if (!door) return notSignedIn()
  const { id } = await params
  const bytes = await door.waitingBytes(new URL(request.url).searchParams.get('spool') ?? '', id)
  if (!bytes) return Response.json({ detail: 'It no longer waits.' }, { status: 404 })
  return envelopeFile(id, bytes)
}
