/**
 * Preloaded into a web server that a test starts: while it renders the document of a request with `?call` in its URL, it asks
 * the server at `TEST_CALL` something, and has Next wait with the end of the document until it has the answer.
 */

import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Folder in which Next.js puts the chunks of pages and layouts. */
const OF_PAGES = /[\\/]chunks[\\/]ssr[\\/]/

type Exchange = { request: IncomingMessage; response: ServerResponse }

const due: ((answer: Promise<unknown>) => void)[] = [] // calls that are to be made

subscribe('http.server.request.start', (message) => {
  const { request, response } = message as Exchange
  if (!/[?&]call\b/.test(request.url ?? '')) return
  const { promise: answer, resolve } = Promise.withResolvers<unknown>()
  due.push(resolve)
  holdUntil(answer, response)
})

/** As one whose reader is slow: Next ends its span of a request when it has given all to the response, not when that has ended. */
function holdUntil(answer: Promise<unknown>, response: ServerResponse): void {
  const { write } = response
  response.write = (...args: unknown[]) => {
    Reflect.apply(write, response, args)
    void answer.then(() => response.emit('drain'))
    return false
  }
}

process.env = new Proxy(process.env, {
  get(env, name: string) {
    if (name === 'SENTRY_DSN' && due.length > 0 && OF_PAGES.test(new Error().stack ?? ''))
      due.shift()?.(fetch(String(env.TEST_CALL)).then((response) => response.text()))
    return env[name]
  },
  // As it would without a proxy, which describes a property in a way that an environment refuses.
  set: (env, name: string, value) => Reflect.set(env, name, value),
})
