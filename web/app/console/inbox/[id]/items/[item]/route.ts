/** Downloads one item of an inbox envelope, which the browser must not run; with `?show`, an image. `proxy.ts` sets its policy. */

import { openConsole } from '../../../../../../features/console/data-access.ts'
import { fileNameIn, findItem, type ItemStart } from '../../../../../../features/console/inbox/envelope.ts'
import { imageType } from '../../../../../../features/console/inbox/image.ts'
import { streamOf } from '../../../../../../features/console/inbox/stream-of.ts'
import { notSignedIn } from '../../../../../../features/console/responses.ts'

type Context = { params: Promise<{ id: string; item: string }> }

export async function GET(request: Request, { params }: Context): Promise<Response> {
  const door = await openConsole()
  if (!door) return notSignedIn()
  const { id, item } = await params
  const envelope = /^\d{1,6}$/.test(item) ? await door.envelopeDownload(id) : undefined
  const found = envelope && (await findItem(envelope, Number(item)))
  if (!found)
    return Response.json(
      { detail: 'The envelope has no such item, or is no longer in the inbox.' },
      { status: 404 },
    )
  const first = await found.payload.next()
  const isShown = new URL(request.url).searchParams.has('show') && !first.done
  const shown = isShown ? imageType(first.value) : undefined
  return new Response(streamOf(first, found.payload), {
    headers: {
      'content-type': shown ?? 'application/octet-stream',
      'content-disposition': shown ? 'inline' : `attachment; filename="${fileName(found.item)}"`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    },
  })
}

/** Reduces a name to letters, digits and dots: a stranger's name must not reach a path or a header. */
function fileName({ number, type, header }: ItemStart): string {
  const given = fileNameIn(header) ?? `item-${number}-${type}`
  return (
    given
      .slice(-1_000)
      .replaceAll(/[^\w.-]+/g, '_')
      .replace(/^\.+/, '')
      .slice(-100) || 'item'
  )
}
