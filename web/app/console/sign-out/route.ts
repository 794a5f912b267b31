/** Signs the operator out, here and wherever a copy of the cookie is. */

import { config } from '../../../lib/config.ts'
import { SIGN_IN } from '../../../lib/console/places.ts'
import { isOurs } from '../../../lib/console/same-site.ts'
import { endSession } from '../../../lib/console/session.ts'

export async function POST(request: Request): Promise<Response> {
  if (!isOurs(request)) return Response.json({ detail: 'Sign out on a page of this site.' }, { status: 403 })
  await endSession(config())
  return new Response(null, { status: 303, headers: { location: SIGN_IN, 'cache-control': 'no-store' } })
}
