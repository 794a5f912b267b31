/** Address of a NATS server, parsed from `SPOOL_URL`. */

export type NatsAddress = {
  /** `host:port` of each server of the cluster. */
  servers: string[]
  tls: boolean
  /** Copies of the spool in a cluster: 1, 3 or 5. */
  replicas: number
  credentials: { user: string; pass: string } | { token: string } | undefined
}

const PORT = 4222
const SHAPE = /^(nats|tls):\/\/([^/?#]+)\/?(?:\?replicas=([135]))?$/i
const SERVER = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i

/**
 * `nats://` or `tls://`, then servers separated by commas, before the first of them `user:password@` or `token@` (percent-encoded where
 * they hold `@`, `:`, `,` or `/`), at the end `?replicas=3` for a cluster. Returns `undefined` for other texts.
 */
export function parseNatsUrl(text: string): NatsAddress | undefined {
  const [, scheme, places = '', replicas = '1'] = SHAPE.exec(text) ?? []
  const servers = places.split(',').map((place) => readServer(place.slice(place.lastIndexOf('@') + 1)))
  const login = places.slice(0, Math.max(0, places.split(',')[0]?.lastIndexOf('@') ?? 0))
  if (!scheme || !servers.every((server) => server !== undefined)) return undefined
  const credentials = readLogin(login)
  if (credentials === null) return undefined
  return { servers, tls: scheme.toLowerCase() === 'tls', replicas: Number(replicas), credentials }
}

/** Parses a line `user:password`, which may hold any characters and is not percent-encoded. */
export function parseNatsCredentials(text: string): { user: string; pass: string } | undefined {
  const [, user, pass] = /^([^:\n]+):([^\n]+)$/.exec(text.trim()) ?? []
  return user && pass ? { user, pass } : undefined
}

/** Returns the address without credentials, for logs and messages. */
export function describeNats({ servers, tls, replicas }: NatsAddress): string {
  return `${tls ? 'tls' : 'nats'}://${servers.join(',')}${replicas > 1 ? `?replicas=${replicas}` : ''}`
}

function readServer(text: string): string | undefined {
  const [, host, port = String(PORT)] = SERVER.exec(text) ?? []
  return host && Number(port) > 0 && Number(port) <= 65535 ? `${host}:${port}` : undefined
}

/** `null` when it cannot be decoded. */
function readLogin(text: string): NatsAddress['credentials'] | null {
  if (!text) return undefined
  try {
    const [user = '', pass] = text.split(':', 2).map(decodeURIComponent)
    return pass === undefined ? { token: user } : { user, pass }
  } catch {
    return null
  }
}
