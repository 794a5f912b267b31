/** Origins of pages: whether one is this site, or in `ALLOWED_ORIGINS`. */

const OWN_PORTS: Readonly<Record<string, string>> = { 'http:': ':80', 'https:': ':443' }

/** Reports whether a URL has the host and port of a `Host` header, which may name the scheme's own port. */
export function isOfHost(url: URL, host: string | undefined): boolean {
  const ownPort = OWN_PORTS[url.protocol]
  if (ownPort === undefined || host === undefined) return false
  const name = host.toLowerCase()
  return url.host === (name.endsWith(ownPort) ? name.slice(0, -ownPort.length) : name)
}

const WEB_ORIGIN = /^https?:\/\/[^/?#\\@]+$/i

/** Parses an `Origin` header of a web page; `undefined` for a packaged app, an extension, `null` and other texts. */
export function parseWebOrigin(origin: string): URL | undefined {
  return (WEB_ORIGIN.test(origin) && URL.parse(origin)) || undefined
}

/** The set of origins that `ALLOWED_ORIGINS` describes. */
export type OriginSet = Pick<ReadonlySet<string>, 'has' | 'size'>

const ENTRY = /^([a-z][a-z\d+.-]*):\/\/(\*\.)?(\[[\da-f:.]+\]|[\w.~-]*|\*)(:\d{1,5})?$/i
const SUBDOMAINS = /^[\w-]+(\.[\w-]+)*$/
/** Names of one label below which everything is of one owner. */
const OWN_NAMES = ['localhost', 'test', 'internal', 'local', 'lan']

/** Reports whether `ALLOWED_ORIGINS` may have this entry: an origin as browsers write it, or one with a wildcard. */
export function isOriginEntry(text: string): boolean {
  if (text === 'null') return true
  const [, scheme = '', wildcard, host = '', port = ''] = ENTRY.exec(text) ?? []
  if (scheme !== 'http' && scheme !== 'https') return scheme !== '' && (wildcard === undefined || host !== '')
  if (host === '' || host === '*' || text !== text.toLowerCase() || port === OWN_PORTS[`${scheme}:`])
    return false
  if (wildcard === undefined) return true
  return OWN_NAMES.includes(host) || (/[^.]\.[^.]/.test(host) && !/^\[|(^|\.)\d+$/.test(host))
}

/**
 * Origins and wildcards: `https://*.shop.example` stands for all subdomains of shop.example, `moz-extension://*` for all hosts of the
 * scheme. Each origin is compared without regard to case.
 */
export class AllowedOrigins implements OriginSet {
  readonly size: number
  readonly #exact: ReadonlySet<string>
  readonly #wildcards: readonly { before: string; after: string }[]

  constructor(entries: readonly string[]) {
    const all = entries.map((entry) => entry.toLowerCase())
    this.size = all.length
    this.#exact = new Set(all)
    this.#wildcards = all
      .filter((entry) => entry.includes('*'))
      .map((entry) => {
        const [before = '', after = ''] = entry.split('*')
        return { before, after }
      })
  }

  has(origin: string): boolean {
    const text = origin.toLowerCase()
    if (text.includes('*')) return false
    return this.#exact.has(text) || this.#wildcards.some((wildcard) => matches(text, wildcard))
  }
}

function matches(text: string, { before, after }: { before: string; after: string }): boolean {
  if (!text.startsWith(before) || !text.endsWith(after)) return false
  return SUBDOMAINS.test(text.slice(before.length, text.length - after.length))
}
