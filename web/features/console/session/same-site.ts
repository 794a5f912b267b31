/** Origin check for requests that change something. */

/** Reports whether a page of this site sent the request, by the headers that browsers add to every POST. */
export function isSameSite({ headers }: { headers: Pick<Headers, 'get'> }): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return false
  const origin = headers.get('origin')
  if (!origin || !URL.canParse(origin)) return false
  return new URL(origin).host === headers.get('host')
}
