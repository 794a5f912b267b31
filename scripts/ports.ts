/** Ports: which are free, and whether the one asked for is. */

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { UserError } from './user-error.ts'

/** `count` different ports of 127.0.0.1 that nobody listens on now. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen('127.0.0.1', 0)))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map(close))
  return ports
}

/** Throws a `Refusal` when the site cannot listen on this address. */
export async function checkPort(host: string, port: number): Promise<void> {
  const server = await listen(host, port).catch((error: NodeJS.ErrnoException) => {
    throw new UserError(sayWhy(error.code, host, port))
  })
  await close(server)
}

function sayWhy(code: string | undefined, host: string, port: number): string {
  if (code === 'EADDRINUSE')
    return `port ${port} of ${host} is taken by another program; stop it, or set HTTP_PORT to a free port.`
  if (code === 'EACCES')
    return `port ${port} may not be opened by this user; set HTTP_PORT to one from 1024 up.`
  return `HTTP_HOST: "${host}" is not an address of this machine (${code}); write 127.0.0.1 or another of its addresses.`
}

async function listen(host: string, port: number) {
  const server = createServer().listen({ host, port, exclusive: true })
  await once(server, 'listening')
  return server
}

async function close(server: Awaited<ReturnType<typeof listen>>): Promise<void> {
  server.close()
  await once(server, 'close')
}
