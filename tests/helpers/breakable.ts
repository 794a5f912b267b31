/**
 * Preloaded into a web server that a test starts: while it answers a request with `?break` in its URL, its settings cannot
 * be read, once. So the real layout fails on the server, as only a fault would make it.
 */

import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'

let broken = false

subscribe('http.server.request.start', (message) => {
  const { request } = message as { request: IncomingMessage }
  broken ||= request.url?.includes('?break') ?? false
})

process.env = new Proxy(process.env, {
  get(env, name: string) {
    if (name !== 'SENTRY_DSN' || !broken) return env[name]
    broken = false
    throw new Error('broken for a test')
  },
  // As it would without a proxy, which describes a property in a way that an environment refuses.
  set: (env, name: string, value) => Reflect.set(env, name, value),
})
