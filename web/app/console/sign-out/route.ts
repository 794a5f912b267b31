/** Signs the operator out, here and wherever a copy of the cookie is. */

import { SIGN_IN } from '../../../features/console/routes.ts'
import { isOurs } from '../../../features/console/session/same-site.ts'
import { endSession } from '../../../features/console/session/session.ts'
import { config } from '../../../lib/config.ts'

export async function POST(request: Request): Promise<Response> {
  if (!isOurs(request)) return Response.json({ detail: 'Sign out on a page of this site.' }, { status: 403 })
  await endSession(config())
  return new Response(null, { status: 303, headers: { location: SIGN_IN, 'cache-control': 'no-store' } })
}
