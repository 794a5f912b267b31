/** Servers of tests on this machine. */

import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'

/** Listens at `port`, or at a free one, and resolves to it. `await using` closes the server and its connections. */
export async function listen(server: Server, port = 0, host = '127.0.0.1') {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  server.listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose](): Promise<void> {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}
