/**
 * Preloaded into a web server that a test starts: while it renders the document of a request with `?call` in its URL, it asks
 * the server at `TEST_CALL` something, and ends the document when it has the answer, as a page that needs data does.
 */

import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Where Next puts the chunks of pages and layouts. */
const OF_PAGES = /[\\/]chunks[\\/]ssr[\\/]/

type Exchange = { request: IncomingMessage; response: ServerResponse }

let due = 0 // calls that are to be made
let answer: Promise<unknown> = Promise.resolve()

subscribe('http.server.request.start', (message) => {
  const { request, response } = message as Exchange
  if (!/[?&]call\b/.test(request.url ?? '')) return
  due++
  const { end } = response
  response.end = (...args: unknown[]) => {
    void answer.then(() => Reflect.apply(end, response, args))
    return response
  }
})

process.env = new Proxy(process.env, {
  get(env, name: string) {
    if (name === 'SENTRY_DSN' && due > 0 && OF_PAGES.test(new Error().stack ?? '')) {
      due--
      answer = fetch(String(env.TEST_CALL)).then((response) => response.text())
    }
    return env[name]
  },
  // As it would without a proxy, which describes a property in a way that an environment refuses.
  set: (env, name: string, value) => Reflect.set(env, name, value),
})
