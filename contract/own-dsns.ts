/** DSNs that lead back to Culvert, which forwards envelopes but stores none for others. */

import { leadsTo } from './addresses.ts'
import type { Dsn } from './dsn.ts'
import { formatDsn } from './dsn.ts'

/** Services of `docker-compose.yml`. */
const SERVICES = ['nginx:8080', 'nginx:8081', 'tunnel:9090', 'tunnel-admin:9091', 'web:3000']
const DEFAULT_PORT = { http: '80', https: '443' }

/** Setting that lists DSNs. */
type DsnSetting = 'SENTRY_DSN' | 'MIRROR_DSN'

/** Returns a problem for each DSN of a setting that leads to one of Culvert's `listeners`, like `8080` or `127.0.0.1:8081`. */
export function findOwnDsns(
  dsns: readonly Dsn[],
  listeners: readonly string[],
  setting: DsnSetting = 'SENTRY_DSN',
): string[] {
  return dsns
    .filter(({ host, port, protocol }) => {
      const authority = `${host}:${port || DEFAULT_PORT[protocol]}`
      return SERVICES.includes(authority) || listeners.some((listener) => leadsTo(authority, listener))
    })
    .map((dsn) => describeOwnDsn(formatDsn(dsn), setting))
}

export function describeOwnDsn(dsn: string, setting: DsnSetting): string {
  return `${setting}: "${dsn}" leads back to Culvert; write the DSN of your Sentry, and Culvert's address into the tunnel option of the SDK`
}
