/** A DSN: which Sentry, which project, with which public key. */

export type Dsn = {
  protocol: 'http' | 'https'
  publicKey: string
  /** Lower-cased; an IPv6 address keeps its brackets. */
  host: string
  /** Empty when it is the protocol's own. */
  port: string
  /** Prefix before `/api/`, without slashes at its ends; empty for most. */
  path: string
  /** Digits, as written. */
  projectId: string
}

// As `DSN_REGEX` of the JavaScript SDK reads it (packages/core/src/utils/dsn.ts), but to the last character:
// the project is digits and nothing follows it.
const DSN =
  /^(https?):\/\/(\w+)(?::\w*)?@(\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::(\d{1,5}))?\/((?:[\w.~-]+\/)*)(0|[1-9]\d{0,19})$/i

const DEFAULT_PORT = { http: '80', https: '443' }

/** Reads a DSN, or gives `undefined` for what is none. A legacy secret (`key:secret@`) is accepted and dropped. */
export function parseDsn(text: string): Dsn | undefined {
  const parts = DSN.exec(text)
  if (!parts) return undefined
  const [, scheme = '', publicKey = '', host = '', givenPort = '', path = '', projectId = ''] = parts
  if (Number(givenPort) > 65535 || /(^|\/)\.{1,2}\//.test(path)) return undefined
  const protocol = scheme.toLowerCase() === 'http' ? 'http' : 'https'
  const port = givenPort === DEFAULT_PORT[protocol] ? '' : givenPort
  return { protocol, publicKey, host: host.toLowerCase(), port, path: path.replace(/\/$/, ''), projectId }
}

/** The DSN as SDKs write it into an envelope header (`dsnToString`): without a secret. */
export function formatDsn(dsn: Dsn): string {
  return `${dsn.protocol}://${dsn.publicKey}@${authority(dsn)}/${dsn.path && `${dsn.path}/`}${dsn.projectId}`
}

/** Scheme and authority: what a Content-Security-Policy or a connection pool knows this Sentry by. */
export function originOf(dsn: Dsn): string {
  return `${dsn.protocol}://${authority(dsn)}`
}

/** Where an SDK without a tunnel posts its envelopes, as it writes it. */
export function envelopeUrl(dsn: Dsn): string {
  return `${originOf(dsn)}${dsn.path && `/${dsn.path}`}/api/${dsn.projectId}/envelope/?sentry_version=7&sentry_key=${dsn.publicKey}`
}

function authority(dsn: Dsn): string {
  return dsn.port ? `${dsn.host}:${dsn.port}` : dsn.host
}

/** The identifiers that go into a tunnel's query. A self-hosted DSN has a project only. */
export type Identifiers = { p: string; o?: string; r?: string }

// Host of Sentry's own cloud, as `tunnelRoute` recognises it (packages/nextjs/src/client/tunnelRoute.ts).
const CLOUD_HOST = /^o(\d+)\.ingest(?:\.([a-z]{2}))?\.sentry\.io$/

/** What the path's query says of a DSN: `p` project, and for Sentry's cloud `o` organisation and `r` region. */
export function identifiersOf(dsn: Dsn): Identifiers {
  const cloud = CLOUD_HOST.exec(dsn.host)
  if (!cloud?.[1]) return { p: dsn.projectId }
  return { p: dsn.projectId, o: cloud[1], ...(cloud[2] && { r: cloud[2] }) }
}

/** The URL a browser posts to. `p` stands first: `?o=` first is on EasyPrivacy. */
export function tunnelUrl(path: string, dsn: Dsn): string {
  const { p, o, r } = identifiersOf(dsn)
  return `${path}?p=${p}${o ? `&o=${o}` : ''}${r ? `&r=${r}` : ''}`
}

/** The path that v11 SDKs derive with `tunnel: true`: `/` and FNV-1a-32 of the DSN, base 36 (@sentry/core `getTunnelPath`). */
export function derivedPath(dsn: Dsn): string {
  let hash = 0x811c9dc5
  const text = formatDsn(dsn)
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return `/${(hash >>> 0).toString(36)}`
}

/** The DSN that web and tunnel share when none is configured: inbox mode (`DESIGN.md` §6). Its host can never resolve. */
export const INBOX_DSN = 'https://culvert@inbox.invalid/1'

/**
 * Reads `SENTRY_DSN`: one or more DSNs separated by white space or commas, the first being the one handed to browsers.
 * Empty means inbox mode. Problems are appended in the words of `tunnel/src/config/settings.ts`, a secret left out.
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
