/** Free ports below the range that systems give to connections: a port stays free while its server is away. */

import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

const [FROM, TO] = [10_081, 32_000] // fetch() and browsers refuse port 10080, and none above it

/**
 * Returns a TCP port of 127.0.0.1 that no other caller gets, in this process or another, while this process lives. The UDP port of the same
 * number marks it as taken.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FROM, TO)
    if ((await reserve(port)) && (await isFree(port))) return port
  }
}

async function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref()
  socket.bind({ port, address: '127.0.0.1', exclusive: true })
  const isOurs = await succeeds(once(socket, 'listening'))
  if (!isOurs) socket.close()
  return isOurs
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  if (!(await succeeds(once(server, 'listening')))) return false
  server.close()
  await once(server, 'close')
  return true
}

function succeeds(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  )
}
