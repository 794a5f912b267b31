/** Listening, and stopping without cutting a request. */

import { randomBytes } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { hostname, networkInterfaces } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import type { ServerType } from '@hono/node-server'

/** Unique over replicas and restarts. */
export function nameReplica(): string {
  return `${hostname()}-${randomBytes(3).toString('hex')}`
}

/** Rejects with the system's error when the address cannot be had. */
export async function listen(server: ServerType, host: string, port: number): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening')
}

const LOOKUPS = 20
const LOOKUP_PAUSE_MS = 250

/**
 * The address of this machine that a name stands for. In compose `tunnel-admin` is an alias that every replica bears on the admin
 * network only: it resolves to all of theirs, of which one is ours. An address is given back as it is.
 */
export async function ownAddress(host: string): Promise<string> {
  const own = new Set(
    Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)),
  )
  for (let tries = 1; ; tries++) {
    const found = await lookup(host, { all: true }).catch(() => [])
    const ours = found.find(({ address }) => own.has(address) || address === '0.0.0.0' || address === '::')
    if (ours) return ours.address
    if (tries === LOOKUPS)
      throw new Error(
        `ADMIN_HOST: "${host}" is no address of this machine; write one that is, or a name for it`,
      )
    await wait(LOOKUP_PAUSE_MS)
  }
}

/**
 * Takes no new connection and resolves when every request in hand is answered, or after `ms`: a sender that never ends its body must not
 * keep what is left to do from being done. Idle connections are closed at once.
 */
export async function stopTaking(server: ServerType, ms: number): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  if ('closeIdleConnections' in server) closeIdle(server, ms)
  await closed
}

/** Takes no new connection and drops those there are: for listeners whose readers never leave by themselves. */
export async function stopNow(server: ServerType): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  if ('closeAllConnections' in server) server.closeAllConnections()
  await closed
}

/** A connection that becomes idle after its answer is closed then, not at the end of its keep-alive time. */
function closeIdle(server: Server, ms: number): void {
  server.closeIdleConnections()
  const timer = setInterval(() => server.closeIdleConnections(), 50)
  const deadline = setTimeout(() => server.closeAllConnections(), ms)
  server.once('close', () => {
    clearInterval(timer)
    clearTimeout(deadline)
  })
}
