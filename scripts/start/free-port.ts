/** Free ports below the range that systems give to connections: a port stays free while its server is away. */

import { randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { UserError } from '../environment.ts'
import { close, LOOPBACK, listen } from './ports.ts'

const [FROM, TO] = [10_082, 32_000] // fetch() and browsers refuse port 10080, and none above it

const ATTEMPTS = 1_000 // a machine with so many taken ports cannot run a site

/**
 * Returns a TCP port of 127.0.0.1 that no other caller gets, in this process or another, while this process lives. The UDP port of the same
 * number marks it as taken. It is even: the next one, at which a site accepts envelopes of servers, is no other caller's port. Throws a
 * `UserError` when it finds none.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = 2 * randomInt(FROM / 2, TO / 2)
    const reservation = await reserve(port)
    if (reservation && (await isFree(port))) return port
    reservation?.close()
  }
  throw new UserError(
    `no port of ${LOOPBACK} between ${FROM} and ${TO} is free; end programs that listen there.`,
  )
}

/** Returns the socket that marks the port; `undefined` when another one does. */
async function reserve(port: number): Promise<Socket | undefined> {
  const socket = createSocket('udp4').unref()
  socket.bind({ port, address: LOOPBACK, exclusive: true })
  if (await succeeds(once(socket, 'listening'))) return socket
  socket.close()
  return undefined
}

function isFree(port: number): Promise<boolean> {
  return succeeds(listen(LOOPBACK, port).then(close))
}

function succeeds(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  )
}
