/** Durability of the streams: versions of NATS that lose messages, and `sync_interval`, as far as the servers tell it. */

/** Part of `/varz` (docs.nats.io, monitoring). */
type Varz = { server_id?: string; jetstream?: { config?: { sync_always?: boolean } } }

type ServersDeps = {
  /** `host:port` of the servers of `SPOOL_URL`. */
  servers: readonly string[]
  /** Copies of a stream. */
  replicas: number
  /** Port of the servers' monitoring. */
  monitoringPort?: number
}

const MONITORING_PORT = 8222
const ANSWER_MS = 1_000

/** Returns the problem of a version of NATS, with the remedy. */
export function problemOfNats(version: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map((part) => Number(part) || 0)
  const isBefore = (first: number, second: number, third: number) =>
    major < first || (major === first && (minor < second || (minor === second && patch < third)))
  if (isBefore(2, 10, 0)) return 'cannot sync each message (sync_interval: always)'
  if (isBefore(2, 10, 23)) return 'can lose a whole stream when it is killed (nats-server #6888)'
  if (!isBefore(2, 12, 0) && isBefore(2, 12, 3))
    return 'can lose messages when the servers of a cluster change (nats-server #7545)'
  return undefined
}

/** Describes the durability of a stored message. Asks the servers, which need not answer. */
export async function describeServers(deps: ServersDeps): Promise<string> {
  const found = new Map<string, boolean>()
  for (const { server_id: id = '', jetstream } of await readAll(deps))
    if (jetstream?.config) found.set(id, jetstream.config.sync_always === true)
  const expected = Math.max(deps.replicas, new Set(deps.servers).size)
  const always = [...found.values()].filter(Boolean).length
  if (always < found.size)
    return `unproven: ${found.size - always} of ${found.size} servers do not sync each message; set sync_interval: always in the jetstream block of every server`
  if (found.size >= expected) return `on ${deps.replicas} of ${found.size} servers, sync always`
  return `unproven: ${found.size} of ${expected} servers tell their sync_interval; set sync_interval: always on every server, and http_port: ${MONITORING_PORT}, so that Culvert can read it`
}

async function readAll({ servers, monitoringPort = MONITORING_PORT }: ServersDeps): Promise<Varz[]> {
  const hosts = new Set(servers.map((server) => server.slice(0, server.lastIndexOf(':'))))
  return (await Promise.all(Array.from(hosts, (host) => readMonitoring(host, monitoringPort)))).flat()
}

async function readMonitoring(host: string, port: number): Promise<Varz[]> {
  try {
    const response = await fetch(`http://${host}:${port}/varz`, {
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    return [(await response.json()) as Varz]
  } catch {
    return []
  }
}
