/** Start and graceful stop of HTTP servers. */

import { randomBytes } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import type { ServerType } from '@hono/node-server'

/** Returns a name that is unique over replicas and restarts. */
export function nameReplica(): string {
  return `${hostname()}-${randomBytes(3).toString('hex')}`
}

/**
 * Resolves with the port, which the system chooses for port 0. Rejects with the system's error when the address is not available. With the
 * host `::`, Node accepts IPv4 as well, and only IPv4 where the system has no IPv6.
 */
export async function listen(server: ServerType, host: string, port: number): Promise<number> {
  server.listen({ port, ...(host !== '::' && { host }) })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const LOOKUPS = 20
const LOOKUP_PAUSE_MS = 250

/**
 * Resolves a name to an address of this machine. In compose `tunnel-admin` is an alias of every replica on the admin network, and
 * resolves to the addresses of all. Returns addresses unmodified.
 */
export async function ownAddress(host: string): Promise<string> {
  const own = new Set(
    Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)),
  )
  for (let tries = 1; ; tries++) {
    const found = await lookup(host, { all: true }).catch(() => [])
    const match = found.find(({ address }) => own.has(address) || address === '0.0.0.0' || address === '::')
    if (match) return match.address
    if (tries === LOOKUPS)
      throw new Error(
        `ADMIN_PORT: "${host}" is no address of this machine; write one that is, or a name for it`,
      )
    await wait(LOOKUP_PAUSE_MS)
  }
}

/**
 * Accepts no new connections and resolves when all pending requests have a response, or after `ms`: a sender that never ends its body must
 * not delay the rest of the shutdown. Idle connections are closed at once.
 */
export async function stopTaking(server: ServerType, ms: number): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  if ('closeIdleConnections' in server) closeIdle(server, ms)
  await closed
}

/** Accepts no new connections and closes all: for event streams, which never end. */
export function stopNow(server: ServerType): Promise<void> {
  return stopTaking(server, 0)
}

/** Closes connections as soon as they are idle, not at the end of their keep-alive time. */
function closeIdle(server: Server, ms: number): void {
  server.closeIdleConnections()
  const timer = setInterval(() => server.closeIdleConnections(), 50)
  const deadline = setTimeout(() => server.closeAllConnections(), ms)
  server.once('close', () => {
    clearInterval(timer)
    clearTimeout(deadline)
  })
}
