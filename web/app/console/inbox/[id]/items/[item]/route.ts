/** One item of a kept envelope, as a download that nothing may run; with `?show`, a picture. */

import { notSignedIn } from '../../../../../../lib/console/answers.ts'
import { openConsole } from '../../../../../../lib/console/console.ts'
import { imageType } from '../../../../../../lib/console/image.ts'
import { type KeptItem, readKept } from '../../../../../../lib/console/kept-envelope.ts'
import { DATA_POLICY } from '../../../../../../lib/safety.ts'

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
      'content-security-policy': DATA_POLICY,
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
