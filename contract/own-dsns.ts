/** DSNs that lead back to Culvert, which forwards envelopes but stores none for others. */

import { leadsTo } from './addresses.ts'
import type { Dsn } from './dsn.ts'
import { formatDsn } from './dsn.ts'

/** Services of `docker-compose.yml`. */
const SERVICES = ['nginx:8080', 'nginx:8081', 'tunnel:9090', 'tunnel-admin:9091', 'web:3000']
const DEFAULT_PORT = { http: '80', https: '443' }

/** Returns a problem for each DSN that leads to one of Culvert's `listeners`, like `8080` or `127.0.0.1:8081`. */
export function findOwnDsns(dsns: readonly Dsn[], listeners: readonly string[]): string[] {
  return dsns
    .filter(({ host, port, protocol }) => {
      const authority = `${host}:${port || DEFAULT_PORT[protocol]}`
      return SERVICES.includes(authority) || listeners.some((listener) => leadsTo(authority, listener))
    })
    .map((dsn) => describeOwnDsn(formatDsn(dsn)))
}

export function describeOwnDsn(dsn: string): string {
  return `SENTRY_DSN: "${dsn}" leads back to Culvert; write the DSN of your Sentry, and Culvert's address into the tunnel option of the SDK`
}
