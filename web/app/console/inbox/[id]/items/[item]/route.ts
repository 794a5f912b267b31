/** One item of a kept envelope, as a download that nothing may run; with `?show`, a picture. Its policy is set where all are, in `proxy.ts`. */

import { notSignedIn } from '../../../../../../lib/console/answers.ts'
import { openConsole } from '../../../../../../lib/console/console.ts'
import { imageType } from '../../../../../../lib/console/image.ts'
import { type KeptItem, readKept } from '../../../../../../lib/console/kept-envelope.ts'

type Context = { params: Promise<{ id: string; item: string }> }

export async function GET(request: Request, { params }: Context): Promise<Response> {
  const door = await openConsole()
  if (!door) return notSignedIn()
  const { id, item } = await params
  const bytes = await door.envelope(id)
  const found = bytes && /^\d{1,6}$/.test(item) ? readKept(bytes).items[Number(item)] : undefined
  if (!found) return Response.json({ detail: 'There is no such item (any more).' }, { status: 404 })
  const shown = new URL(request.url).searchParams.has('show') ? imageType(found.payload) : undefined
  return new Response(new Uint8Array(found.payload), {
    headers: {
      'content-type': shown ?? 'application/octet-stream',
      'content-disposition': shown ? 'inline' : `attachment; filename="${fileName(found, item)}"`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    },
  })
}

/** Letters, digits and dots: what a stranger called it is not to be trusted with a path or a header. */
function fileName({ type, header: { filename } }: KeptItem, item: string): string {
  const given = typeof filename === 'string' ? filename : `item-${item}-${type}`
  return (
    given
      .replaceAll(/[^\w.-]+/g, '_')
      .replace(/^\.+/, '')
      .slice(-100) || 'item'
  )
}
