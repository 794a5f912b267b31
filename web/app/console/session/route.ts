/** Signs the operator in, and tells a page whether they still are. */

import { openConsole } from '../../../features/console/data-access.ts'
import { notSignedIn } from '../../../features/console/responses.ts'
import { returnPath, SIGN_IN } from '../../../features/console/routes.ts'
import { isOurs } from '../../../features/console/session/same-site.ts'
import { currentDevice, startSession } from '../../../features/console/session/session.ts'
import { createAttempts } from '../../../features/console/session/sign-in-throttle.ts'
import { networkOf } from '../../../lib/client-address.ts'
import { config } from '../../../lib/config.ts'
import { isPassword } from '../../../lib/password.ts'
import { held } from '../../../lib/process-singleton.ts'

const LONGEST = 1_024 // characters that anybody would have in a password

export async function GET(): Promise<Response> {
  return (await openConsole()) ? new Response(null, { status: 204 }) : notSignedIn()
}

export async function POST(request: Request): Promise<Response> {
  const { operatorPassword } = config()
  if (!operatorPassword) return go(SIGN_IN)
  if (!isOurs(request)) return Response.json({ detail: 'Sign in on the page of this site.' }, { status: 403 })
  const form = await request.formData().catch(() => undefined)
  const [given, to] = [form?.get('password'), returnPath(textOf(form?.get('to')))]
  const back = (trouble: string) => go(`${SIGN_IN}?${trouble}&to=${encodeURIComponent(to)}`)
  const attempts = held('attempts', () => createAttempts(Date.now))
  const attempt = attempts.begin(networkOf(request.headers), await currentDevice(operatorPassword))
  if (attempt.wait > 0) return back(`wait=${attempt.wait}`)
  if (typeof given !== 'string' || given.length > LONGEST) return back('wrong=1')
  if (!(await isPassword(operatorPassword, given))) return back('wrong=1')
  attempt.succeed()
  await startSession(operatorPassword)
  return go(to)
}

function textOf(value: FormDataEntryValue | null | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function go(path: string): Response {
  return new Response(null, { status: 303, headers: { location: path, 'cache-control': 'no-store' } })
}
