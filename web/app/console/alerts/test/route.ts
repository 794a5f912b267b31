/** Sends a test to each destination of alerts, and returns the results. */

import { getConsoleData } from '../../../../features/console/data-access/data-access.ts'
import { notSignedIn, notThisSite, problem } from '../../../../features/console/responses.ts'
import { isSameSite } from '../../../../features/console/session/session.ts'

export async function POST(request: Request): Promise<Response> {
  const data = await getConsoleData()
  if (!data) return notSignedIn()
  if (!isSameSite(request)) return notThisSite()
  const test = await data.testAlerts()
  return test
    ? Response.json(test, { headers: { 'cache-control': 'no-store' } })
    : problem(502, 'No tunnel has sent the test. Reload this page, and try again.')
}
