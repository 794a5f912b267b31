/** Downloads the envelope of a spool entry unmodified. `proxy.ts` sets a policy under which browsers run nothing of it. */

import { getConsoleData } from '../../../../../features/console/data-access/data-access.ts'
import { envelopeFile, notSignedIn, problem } from '../../../../../features/console/responses.ts'

type Context = { params: Promise<{ id: string }> }

export async function GET(_request: Request, { params }: Context): Promise<Response> {
  const data = await getConsoleData()
  if (!data) return notSignedIn()
  const { id } = await params
  const envelope = await data.spool.download(id)
  return envelope ? envelopeFile(id, envelope) : problem(404, 'The envelope is no longer pending.')
}
