/** Origin check for requests that change something. */

import { isOfHost, parseWebOrigin } from 'contract/origins'

/** Reports whether a page of this site sent the request, by the headers that browsers add to every POST. */
export function isSameSite({ headers }: { headers: Pick<Headers, 'get'> }): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return false
  const origin = parseWebOrigin(headers.get('origin') ?? '')
  return origin !== undefined && isOfHost(origin, headers.get('host') ?? undefined)
}
