/** Where the pages of the console are. */

export const CONSOLE = '/console'
export const SIGN_IN = '/console/sign-in'

export type Place = 'overview' | 'feed' | 'refusals' | 'projects' | 'spool' | 'inbox' | 'replicas'

export const PLACES: { place: Place; href: string; name: string }[] = [
  { place: 'overview', href: CONSOLE, name: 'Overview' },
  { place: 'feed', href: `${CONSOLE}/feed`, name: 'Feed' },
  { place: 'refusals', href: `${CONSOLE}/refusals`, name: 'Refusals' },
  { place: 'projects', href: `${CONSOLE}/projects`, name: 'Projects' },
  { place: 'spool', href: `${CONSOLE}/spool`, name: 'Spool' },
  { place: 'inbox', href: `${CONSOLE}/inbox`, name: 'Inbox' },
  { place: 'replicas', href: `${CONSOLE}/replicas`, name: 'Replicas' },
]

/** What a page is asked for by, in the order in which it stands in the address. */
export type Query = Record<string, string | string[] | undefined>

/** A page of the console with all that it was asked for by, so that a link leads there through the sign-in too. */
export function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((each) => [name, each]),
  )
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path
}

/** How many of a list stand before the page that is asked for. */
export function readPlace(given: Query[string]): number {
  return typeof given === 'string' && /^\d{1,6}$/.test(given) ? Number(given) : 0
}

/** Where to go after signing in: what was asked for if it is a page of the console, and nowhere else. */
export function returnPath(given: string | null | undefined): string {
  const here = 'http://console.invalid'
  if (!given || !URL.canParse(given, here)) return CONSOLE
  const { origin, pathname, search } = new URL(given, here)
  const isConsole = pathname === CONSOLE || pathname.startsWith(`${CONSOLE}/`)
  return origin === here && isConsole && !pathname.startsWith(SIGN_IN) ? pathname + search : CONSOLE
}
