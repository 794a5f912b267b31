/**
 * Preloaded into a web server of a test: while it renders the document of a request with `?call` in its URL, it requests the URL in
 * `TEST_CALL`, and Next.js waits for the response before it ends the document.
 */

import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Folder in which Next.js puts the chunks of pages and layouts. */
const OF_PAGES = /[\\/]chunks[\\/]ssr[\\/]/

type Exchange = { request: IncomingMessage; response: ServerResponse }

const due: ((answer: Promise<unknown>) => void)[] = [] // number of pending calls

subscribe('http.server.request.start', (message) => {
  const { request, response } = message as Exchange
  if (!/[?&]call\b/.test(request.url ?? '')) return
  const { promise: answer, resolve } = Promise.withResolvers<unknown>()
  due.push(resolve)
  holdUntil(answer, response)
})

/** Delays the end of a response, as for a slow reader: Next.js ends its span when it has passed everything to the response. */
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
  // A proxy would describe a property in a way that `process.env` rejects.
  set: (env, name: string, value) => Reflect.set(env, name, value),
})
