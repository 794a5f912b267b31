/** DSNs, and the URLs and paths that derive from them. */

export type Dsn = {
  protocol: 'http' | 'https'
  publicKey: string
  /** Lower-cased; an IPv6 address keeps its brackets. */
  host: string
  /** Empty for the protocol's default. */
  port: string
  /** Prefix before `/api/`, without slashes at its ends; mostly empty. */
  path: string
  /** Digits, as written. */
  projectId: string
  /** Text that the SDK makes of the DSN (`dsnToString`), without a secret: it keeps capitals, the default port and empty segments. */
  sdkText: string
}

// `DSN_REGEX` of the JavaScript SDK (packages/core/src/utils/dsn.ts), except that the project is digits. The SDK ignores what follows them,
// such as a query or a fragment, unless that has a slash.
const DSN =
  /^(https?):\/\/(\w+)(?::\w*)?@(\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::(\d{1,5}))?\/((?:[\w.~-]*\/)*)(0|[1-9]\d{0,19})(?:[^\d\s/\\@][^\s/\\@]*)?$/i

const DEFAULT_PORT = { http: '80', https: '443' }

/** Parses a DSN; `undefined` when it is invalid. A legacy secret (`key:secret@`) is accepted and dropped. */
export function parseDsn(text: string): Dsn | undefined {
  const parts = DSN.exec(text)
  if (!parts) return undefined
  const [, scheme = '', publicKey = '', host = '', givenPort = '', path = '', projectId = ''] = parts
  if (Number(givenPort) > 65535 || /(^|\/)\.{1,2}\//.test(path)) return undefined
  const protocol = scheme.toLowerCase() === 'http' ? 'http' : 'https'
  const port = givenPort === DEFAULT_PORT[protocol] ? '' : givenPort
  return {
    protocol,
    publicKey,
    host: host.toLowerCase(),
    port,
    path: path.split('/').filter(Boolean).join('/'), // Sentry shows `//2` when its prefix ends with a slash
    projectId,
    sdkText: `${scheme}://${publicKey}@${host}${givenPort && `:${givenPort}`}/${path === '/' ? '' : path}${projectId}`,
  }
}

const SECRET = /^([^:@]*:\/\/[^:@]*):[^@]*@/

/** Reports whether a text has a password before its host, as DSNs had until 2018. */
export function hasSecret(text: string): boolean {
  return SECRET.test(text)
}

export function withoutSecret(text: string): string {
  return text.replace(SECRET, '$1@')
}

/** Formats a DSN as SDKs do in envelope headers (`dsnToString`), without a secret. */
export function formatDsn(dsn: Dsn): string {
  return `${dsn.protocol}://${dsn.publicKey}@${authority(dsn)}/${dsn.path && `${dsn.path}/`}${dsn.projectId}`
}

/** Reports whether two DSNs, whose keys and paths may differ, are of one project. */
export function isSameProject(a: Dsn, b: Dsn): boolean {
  return a.host === b.host && a.port === b.port && a.projectId === b.projectId
}

/** Returns scheme and authority. */
export function originOf(dsn: Dsn): string {
  return `${dsn.protocol}://${authority(dsn)}`
}

/** Returns the URL that an SDK without a tunnel posts to, as it writes it. */
export function envelopeUrl(dsn: Dsn): string {
  return `${originOf(dsn)}${dsn.path && `/${dsn.path}`}/api/${dsn.projectId}/envelope/?sentry_version=7&sentry_key=${dsn.publicKey}`
}

function authority(dsn: Dsn): string {
  return dsn.port ? `${dsn.host}:${dsn.port}` : dsn.host
}

/** Query of a tunnel URL: `p` project, and for Sentry's cloud `o` organisation and `r` region. */
export type Identifiers = { p: string; o?: string; r?: string }

// Hosts of Sentry's cloud, as `tunnelRoute` recognises them (packages/nextjs/src/client/tunnelRoute.ts).
const CLOUD_HOST = /^o(\d+)\.ingest(?:\.([a-z]{2}))?\.sentry\.io$/

export function identifiersOf(dsn: Dsn): Identifiers {
  const cloud = CLOUD_HOST.exec(dsn.host)
  if (!cloud?.[1]) return { p: dsn.projectId }
  return { p: dsn.projectId, o: cloud[1], ...(cloud[2] && { r: cloud[2] }) }
}

/** Returns the URL that browsers post to. `p` comes first, since EasyPrivacy blocks `?o=`. */
export function tunnelUrl(path: string, dsn: Dsn): string {
  const { p, o, r } = identifiersOf(dsn)
  return `${path}?p=${p}${o ? `&o=${o}` : ''}${r ? `&r=${r}` : ''}`
}

/** Returns the URL that browsers post reports of their own to. */
export function reportsUrl(path: string, dsn: Dsn): string {
  return tunnelUrl(`${path}/reports`, dsn)
}

/** Returns the path that v11 SDKs derive with `tunnel: true` from the DSN as it is written, and from its shortest spelling. */
export function derivedPaths(dsn: Dsn): string[] {
  return [...new Set([dsn.sdkText, formatDsn(dsn)].map(hashedPath))]
}

/** Returns `/` and FNV-1a-32 of the text, base 36 (@sentry/core `getTunnelPath`). */
function hashedPath(text: string): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return `/${(hash >>> 0).toString(36)}`
}

/** DSN in inbox mode, for web and tunnel. Its host never resolves. */
export const INBOX: Dsn = {
  protocol: 'https',
  publicKey: 'culvert',
  host: 'inbox.invalid',
  port: '',
  path: '',
  projectId: '1',
  sdkText: 'https://culvert@inbox.invalid/1',
}
export const INBOX_DSN = formatDsn(INBOX)

/**
 * Parses `SENTRY_DSN`: DSNs separated by white space or commas. Browsers get the first. Empty means inbox mode. Appends problems to
 * `problems`, without secrets.
 */
export function readDsns(given: string | undefined, problems: string[]): Dsn[] {
  const texts = (given ?? '').split(/[\s,]+/).filter(Boolean)
  return texts.flatMap((text) => {
    const dsn = parseDsn(text)
    if (!dsn)
      problems.push(
        `SENTRY_DSN: "${text.replace(/^([^@]*?:\/\/[^:@]*):[^@]*@/, '$1:…@')}" is not a DSN; write it as Sentry shows it, like https://key@o1.ingest.us.sentry.io/2, several separated by spaces or commas`,
      )
    return dsn ? [dsn] : []
  })
}
