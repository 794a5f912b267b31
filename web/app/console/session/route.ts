/** Session of the operator: GET returns whether there is one, POST signs in. */

import { getConsoleData } from '../../../features/console/data-access/data-access.ts'
import { notSignedIn, notThisSite, seeOther } from '../../../features/console/responses.ts'
import { returnPath, SIGN_IN, withQuery } from '../../../features/console/routes.ts'
import { currentDevice, isSameSite, startSession } from '../../../features/console/session/session.ts'
import { createSignInThrottle } from '../../../features/console/session/sign-ins.ts'
import { networkOf } from '../../../lib/client-address.ts'
import { config } from '../../../lib/config.ts'
import { isPassword, QueueFull } from '../../../lib/password.ts'
import { processSingleton } from '../../../lib/process-singleton.ts'

const MAX_LENGTH = 1_024 // characters

export async function GET(): Promise<Response> {
  return (await getConsoleData()) ? new Response(null, { status: 204 }) : notSignedIn()
}

export async function POST(request: Request): Promise<Response> {
  const settings = config()
  const { operatorPassword } = settings
  if (!operatorPassword) return seeOther(SIGN_IN)
  if (!isSameSite(request)) return notThisSite()
  const form = await request.formData().catch(() => new FormData())
  const [given, target] = [form.get('password'), form.get('to')]
  const to = returnPath(typeof target === 'string' ? target : undefined)
  const attempts = processSingleton('attempts', () => createSignInThrottle(Date.now))
  const attempt = attempts.begin(networkOf(request.headers), await currentDevice(operatorPassword))
  if (attempt.wait > 0) return seeOther(withQuery(SIGN_IN, { wait: `${attempt.wait}`, to }))
  const isWhole = typeof given === 'string' && given.length <= MAX_LENGTH
  try {
    if (!isWhole || !(await isPassword(operatorPassword, given, attempt.turn)))
      return seeOther(withQuery(SIGN_IN, { wrong: '1', to }))
  } catch (error) {
    if (!(error instanceof QueueFull)) throw error
    attempt.withdraw()
    return seeOther(withQuery(SIGN_IN, { busy: '1', to }))
  }
  attempt.succeed()
  await startSession(settings, operatorPassword)
  return seeOther(to)
}
