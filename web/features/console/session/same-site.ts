/** Whether a request that acts was made by a page of this site. */

/** A browser says so by itself on every POST; who says nothing is refused. */
export function isOurs({ headers }: { headers: Pick<Headers, 'get'> }): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return false
  const origin = headers.get('origin')
  if (!origin || !URL.canParse(origin)) return false
  return new URL(origin).host === headers.get('host')
}
