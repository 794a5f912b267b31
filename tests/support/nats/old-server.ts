/** TCP server that introduces itself as a NATS server of a version that Culvert does not accept. */

import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

/** Listens on a free port of 127.0.0.1. `await using` closes it. */
export async function startOldNats(version: string) {
  const info = { server_id: 'old', version, proto: 1, headers: true, max_payload: 1024 * 1024 }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket))
    socket.write(`INFO ${JSON.stringify(info)}\r\n`)
    socket.on('data', (data) => data.includes('PING') && socket.write('PONG\r\n'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    server: `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
