/** Sends the segment of a replay in an inbox envelope, decompressed. `proxy.ts` sets a policy under which browsers run nothing of it. */

import { getConsoleData } from '../../../../../features/console/data-access/data-access.ts'
import { findItem, streamOf } from '../../../../../features/console/inbox/envelope.ts'
import { unpackSegment } from '../../../../../features/console/inbox/replay/segment.ts'
import { download, notSignedIn, problem } from '../../../../../features/console/responses.ts'

type Context = { params: Promise<{ id: string }> }

export async function GET(_request: Request, { params }: Context): Promise<Response> {
  const data = await getConsoleData()
  if (!data) return notSignedIn()
  const { id } = await params
  const envelope = await data.inbox.download(id)
  const found = envelope && (await findItem(envelope, ({ type }) => type === 'replay_recording'))
  if (!found) return problem(404, 'The envelope has no recording, or is no longer in the inbox.')
  const recording = unpackSegment(found.payload)
  const first = await recording.next().catch(() => undefined)
  if (!first) return problem(422, 'The recording is damaged.')
  return download(streamOf(first, recording), 'recording.json')
}
