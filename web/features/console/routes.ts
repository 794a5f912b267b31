/** Routes of the console, and the queries that several pages share. */

export const CONSOLE = '/console'
export const SIGN_IN = '/console/sign-in'
export const SETUP = '/console/setup'
export const DOCS = '/console/docs'

export type Place =
  | 'overview'
  | 'feed'
  | 'find'
  | 'rejections'
  | 'policies'
  | 'projects'
  | 'spool'
  | 'inbox'
  | 'replicas'
  | 'setup'
  | 'docs'

type Link = { place: Place; href: string; name: string }

/** Pages by their purpose: to watch traffic, to read stored envelopes, and to change settings. */
export const PLACE_GROUPS: { name: string; places: Link[] }[] = [
  {
    name: 'Traffic',
    places: [
      { place: 'overview', href: CONSOLE, name: 'Overview' },
      { place: 'feed', href: `${CONSOLE}/live-feed`, name: 'Live feed' },
      { place: 'rejections', href: `${CONSOLE}/rejections`, name: 'Rejections' },
    ],
  },
  {
    name: 'Reports',
    places: [
      { place: 'inbox', href: `${CONSOLE}/inbox`, name: 'Inbox' },
      { place: 'spool', href: `${CONSOLE}/spool`, name: 'Spool' },
      { place: 'find', href: `${CONSOLE}/find`, name: 'Find' },
    ],
  },
  {
    name: 'Operation',
    places: [
      { place: 'projects', href: `${CONSOLE}/projects`, name: 'Projects' },
      { place: 'policies', href: `${CONSOLE}/policies`, name: 'Policies' },
      { place: 'replicas', href: `${CONSOLE}/replicas`, name: 'Replicas' },
      { place: 'setup', href: SETUP, name: 'Set-up' },
      { place: 'docs', href: DOCS, name: 'Documentation' },
    ],
  },
]

export const PLACES = PLACE_GROUPS.flatMap(({ places }) => places)

/** Query parameters of a page, in the order of its address. */
export type Query = Record<string, string | string[] | undefined>

/** Returns the address of a page with its query, so that it survives the sign-in. */
export function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((each) => [name, each]),
  )
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path
}

/** Reads the offset of the requested page of a list. */
export function readOffset(given: Query[string]): number {
  return typeof given === 'string' && /^\d{1,6}$/.test(given) ? Number(given) : 0
}

/** Returns the page to open after sign-in: the requested one if it belongs to the console, else the overview. */
export function returnPath(given: string | null | undefined): string {
  const here = 'http://console.invalid'
  if (!given || !URL.canParse(given, here)) return CONSOLE
  const { origin, pathname, search } = new URL(given, here)
  const isConsole = pathname === CONSOLE || pathname.startsWith(`${CONSOLE}/`)
  return origin === here && isConsole && !pathname.startsWith(SIGN_IN) ? pathname + search : CONSOLE
}

export const FIND = `${CONSOLE}/find`

const EVENT_ID = /^[0-9a-f]{32}$/
const RECEIPT_ID = /^[\w.-]{1,100}-\d{1,15}$/

/** Returns the address of the page for an event ID. */
export function findPath(eventId: string): string {
  return withQuery(FIND, { id: eventId })
}

/** Returns an event ID as receipts have it: people copy it in capitals, with dashes or with spaces. `undefined` for another text. */
export function readEventId(text: string): string | undefined {
  const id = text.replaceAll(/[\s-]/g, '').toLowerCase()
  return EVENT_ID.test(id) ? id : undefined
}

export function isReceiptId(text: string): boolean {
  return RECEIPT_ID.test(text)
}
