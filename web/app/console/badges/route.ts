/** Badges of the navigation, which every page of the console reads. */

import { getConsoleData } from '../../../features/console/data-access/data-access.ts'
import { notSignedIn } from '../../../features/console/responses.ts'
import { badgesOf } from '../../../features/console/shell/badges.ts'

export async function GET(): Promise<Response> {
  const data = await getConsoleData()
  return data
    ? Response.json(badgesOf(await data.snapshot()), { headers: { 'cache-control': 'no-store' } })
    : notSignedIn()
}
