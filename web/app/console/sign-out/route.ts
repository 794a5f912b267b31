/** Ends the operator's session, also for copies of its cookie. */

import { notThisSite, seeOther } from '../../../features/console/responses.ts'
import { SIGN_IN } from '../../../features/console/routes.ts'
import { endSession, isSameSite } from '../../../features/console/session/session.ts'
import { config } from '../../../lib/config.ts'

export async function POST(request: Request): Promise<Response> {
  if (!isSameSite(request)) return notThisSite()
  await endSession(config())
  return seeOther(SIGN_IN)
}
