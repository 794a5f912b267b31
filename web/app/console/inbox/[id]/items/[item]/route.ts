/** Downloads one item of an inbox envelope; with `?show`, shows an image. `proxy.ts` sets a policy under which browsers run nothing of it. */

import { getConsoleData } from '../../../../../../features/console/data-access/data-access.ts'
import {
  downloadName,
  findItem,
  imageType,
  streamOf,
} from '../../../../../../features/console/inbox/envelope.ts'
import { download, notSignedIn, problem } from '../../../../../../features/console/responses.ts'

type Context = { params: Promise<{ id: string; item: string }> }

export async function GET(request: Request, { params }: Context): Promise<Response> {
  const data = await getConsoleData()
  if (!data) return notSignedIn()
  const { id, item } = await params
  const envelope = /^\d{1,6}$/.test(item) ? await data.inbox.download(id) : undefined
  const found = envelope && (await findItem(envelope, ({ number }) => number === Number(item)))
  if (!found) return problem(404, 'The envelope has no such item, or is no longer in the inbox.')
  const first = await found.payload.next()
  const isShown = new URL(request.url).searchParams.has('show') && !first.done
  const image = isShown ? imageType(first.value) : undefined
  return download(streamOf(first, found.payload), downloadName(found.item), image)
}
