/**
 * Preloaded into a process of a test: connections to the names in `TEST_REROUTE` (JSON, `{"host:port": "host:port"}`) go to other
 * addresses. Only the socket is rerouted: TLS still requests and verifies the original name.
 */

import { Socket } from 'node:net'

type Target = { host?: string; port?: number | string }

const routes = new Map<string, string>(Object.entries(JSON.parse(process.env.TEST_REROUTE ?? '{}')))
const connect = Socket.prototype.connect

Socket.prototype.connect = function rerouted(this: Socket, ...args: unknown[]) {
  // `net.connect` passes its arguments as one list, `tls.connect` one by one.
  const list = Array.isArray(args[0]) ? args[0] : args
  list[0] = reroute(list[0])
  return Reflect.apply(connect, this, args)
} as typeof connect

function reroute(target: unknown): unknown {
  if (typeof target !== 'object' || target === null) return target
  const { host, port } = target as Target
  const [newHost, newPort] = routes.get(`${host}:${port}`)?.split(':') ?? []
  return newHost ? { ...target, host: newHost, port: Number(newPort) } : target
}
