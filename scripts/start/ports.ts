/** Checks before the start whether the ports of the site are free. */

import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import type { SettingName } from 'contract/settings'
import { type Config, UserError } from '../environment.ts'

export const LOOPBACK = '127.0.0.1'

/** Throws a `UserError` when the site cannot listen on its address. */
export async function checkHttpPort({ httpHost, httpPort }: Config): Promise<void> {
  await checkPort(httpHost, httpPort, 'HTTP_PORT')
}

/** Throws a `UserError` when nginx of this machine cannot listen on its addresses. */
export async function checkPorts(config: Config): Promise<void> {
  await checkHttpPort(config)
  await checkPort(LOOPBACK, config.tunnelOriginPort, 'HTTP_PORT')
}

type PortName = Extract<SettingName, `${string}PORT`>

/** Throws a `UserError` when `port` of `host` cannot be opened. `name` is the setting of the port. */
export async function checkPort(host: string, port: number, name: PortName): Promise<void> {
  const server = await listen(host, port).catch((error: NodeJS.ErrnoException) => {
    throw new UserError(describeListenError(error.code, host, port, name))
  })
  await close(server)
}

function describeListenError(code: string | undefined, host: string, port: number, name: PortName): string {
  if (code === 'EADDRINUSE')
    return `port ${port} of ${host} is taken by another program; stop it, or set ${name} to a free port.`
  if (code === 'EACCES')
    return `port ${port} may not be opened by this user; set ${name} to one from 1024 up.`
  return `${name === 'ADMIN_PORT' ? name : name.replace('PORT', 'HOST')}: "${host}" is not an address of this machine (${code}); write 127.0.0.1 or another of its addresses.`
}

/** Listens on an address. Rejects with a system error. */
export async function listen(host: string, port: number): Promise<Server> {
  const server = createServer().listen({ host, port, exclusive: true })
  await once(server, 'listening')
  return server
}

export async function close(server: Server): Promise<void> {
  server.close()
  await once(server, 'close')
}
