/** Addresses of the replicas. A name means every address that it resolves to. */

import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'

export type Resolve = (hostname: string) => Promise<LookupAddress[]>

/** Resolves `host:port` to origins. The last known addresses stay while the name server does not respond. */
export function createAddresses(resolve: Resolve): (authorities: readonly string[]) => Promise<string[]> {
  const known = new Map<string, LookupAddress[]>()
  return async function originsOf(authorities) {
    const found = await Promise.all(authorities.map(originsAt))
    return [...new Set(found.flat())]
  }

  async function originsAt(authority: string): Promise<string[]> {
    const { hostname, port } = new URL(`http://${authority}`)
    if (isIP(hostname.replace(/[[\]]/g, ''))) return [`http://${authority}`]
    known.set(hostname, await resolve(hostname).catch((error) => addressesAfter(error, hostname)))
    return (known.get(hostname) ?? []).map(
      ({ address, family }) => `http://${family === 6 ? `[${address}]` : address}:${port}`,
    )
  }

  function addressesAfter(error: NodeJS.ErrnoException, hostname: string): LookupAddress[] {
    return error.code === 'ENOTFOUND' ? [] : (known.get(hostname) ?? [])
  }
}
