/** Proxy in front of the site that gives visitors a source address different from that of every process. */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Address of 127.0.0.0/8, all of which Linux lets any process use. */
export const VISITOR_ADDRESS = '127.0.0.9'

/** Listens at `at`, or at a free port, and forwards connections unmodified to `port` of 127.0.0.1. `await using` stops it. */
export async function openProxy(port: number, at = 0) {
  const open = new Set<Socket>()
  const server = createServer((visitor) => {
    const site = connect({ port, host: '127.0.0.1', localAddress: VISITOR_ADDRESS })
    for (const [from, to] of [
      [visitor, site],
      [site, visitor],
    ] as const) {
      open.add(from)
      from
        .on('error', () => {})
        .on('close', () => {
          open.delete(from)
          to.destroy()
        })
      from.pipe(to)
    }
  })
  server.listen(at, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    /** Drops every connection; new ones are forwarded. */
    cut,
    async [Symbol.asyncDispose](): Promise<void> {
      server.close()
      cut()
      await once(server, 'close')
    },
  }
}
