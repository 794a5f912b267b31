/** Image of the documentation. */

import { getConsoleData } from '../../../../../features/console/data-access/data-access.ts'
import { readImage } from '../../../../../features/console/docs/docs.ts'
import { notSignedIn, problem } from '../../../../../features/console/responses.ts'

type Context = { params: Promise<{ name: string }> }

export async function GET(_request: Request, { params }: Context): Promise<Response> {
  if (!(await getConsoleData())) return notSignedIn()
  const { name } = await params
  const image = readImage(name)
  if (!image) return problem(404, 'The documentation has no such image.')
  return new Response(new Uint8Array(image), {
    headers: {
      'content-type': name.endsWith('.svg') ? 'image/svg+xml' : 'image/webp',
      'cache-control': 'private, max-age=3600',
    },
  })
}
