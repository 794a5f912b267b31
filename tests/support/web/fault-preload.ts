/**
 * Preloaded into a web server of a test. For a request with `?break` in its URL the layout fails, because it cannot read its settings. With
 * `?break=next` Next.js fails before it renders, because it cannot write a header.
 */

import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Folder in which Next.js puts the chunks of pages and layouts. */
const OF_PAGES = /[\\/]chunks[\\/]ssr[\\/]/

type Exchange = { request: IncomingMessage; response: ServerResponse }

let due = 0 // number of layouts that have to fail

subscribe('http.server.request.start', (message) => {
  const { request, response } = message as Exchange
  const url = request.url ?? ''
  if (/[?&]break=next\b/.test(url)) breakHeaders(response)
  else if (/[?&]break\b/.test(url)) due++
})

/** Header that only responses of pages of the app have. */
function breakHeaders(response: ServerResponse): void {
  const { setHeader } = response
  response.setHeader = (name, value) => {
    if (name.toLowerCase() !== 'vary') return Reflect.apply(setHeader, response, [name, value])
    response.setHeader = setHeader
    throw new Error('broken for a test')
  }
}

process.env = new Proxy(process.env, {
  get(env, name: string) {
    if (name !== 'SENTRY_DSN' || due === 0 || !OF_PAGES.test(new Error().stack ?? '')) return env[name]
    due--
    throw new Error('broken for a test')
  },
  // A proxy would describe a property in a way that `process.env` rejects.
  set: (env, name: string, value) => Reflect.set(env, name, value),
})
