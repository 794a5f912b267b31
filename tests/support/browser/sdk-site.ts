/** A site with pages of a test, on which the tunnel serves the SDK. */

import type { Page } from 'playwright-core'
import { request } from 'undici'
import { buildSdk } from '../../../scripts/build/sdk.ts'
import { startNginx } from '../nginx/nginx.ts'
import { ROOT } from '../node.ts'
import { startUpstream } from '../recording-server.ts'
import { eventOf, type Received } from '../sentry/received-request.ts'
import { startSentry } from '../sentry/sentry.ts'
import { startTunnel } from '../tunnel/tunnel.ts'
import { SITE_HOST } from './chromium.ts'

const KEY = '0123456789abcdef0123456789abcdef'

/** Path of a service worker that passes each request on. */
export const WORKER = '/worker.js'
const WORKER_CODE = `
  addEventListener('install', () => skipWaiting())
  addEventListener('activate', (event) => event.waitUntil(clients.claim()))
  addEventListener('fetch', (event) => event.respondWith(fetch(event.request)))`

/** Returns what a proxy makes of the tunnel's response for this path. */
type Change = (path: string, content: Buffer) => Buffer

export type SdkSite = Awaited<ReturnType<typeof startSdkSite>>

/** Starts Sentry, a tunnel, nginx and a web server, and a proxy before the tunnel if it is to change responses. `await using` stops them. */
export async function startSdkSite(env: Record<string, string> = {}, change?: Change) {
  await buildSdk(ROOT)
  await using starting = new AsyncDisposableStack()
  const pages = new Map<string, { html: string; headers: Record<string, string> }>()
  const sentry = starting.use(await startSentry({ projects: { 456: KEY, 457: KEY } }))
  const dsns = `${sentry.dsn('456')} ${sentry.dsn('457')}`
  const tunnel = starting.use(await startTunnel({ env: { SENTRY_DSN: dsns, ...env } }))
  const web = starting.use(
    await startUpstream('web', ({ url }, response) => {
      if (url === WORKER) return void response.setHeader('content-type', 'text/javascript').end(WORKER_CODE)
      const { html, headers } = pages.get(url) ?? { html: '', headers: {} }
      response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(`<!doctype html>${html}`)
    }),
  )
  const proxy = change && starting.use(await startProxy(tunnel.url, change))
  const tunnels = [proxy?.address ?? `127.0.0.1:${tunnel.port}`]
  const nginx = starting.use(await startNginx({ tunnels, web: web.address }))
  const url = `http://${SITE_HOST}:${nginx.port}`
  const publish = (html: string, policy = '', headers: Record<string, string> = {}): string => {
    const path = `/page-${pages.size}`
    pages.set(path, { html, headers: { ...(policy && { 'content-security-policy': policy }), ...headers } })
    return url + path
  }
  const started = starting.move()
  return {
    url,
    sentry,
    tunnel,
    /** Query of the first project's tunnel URL. */
    query: '?p=456',
    /** URL of the site for pages with service workers, which need a secure context. */
    secureUrl: `http://localhost:${nginx.port}`,
    /** Adds a page with this HTML, and returns its URL. */
    publish,
    /** Opens a page of its own with this HTML, and waits until it has loaded. */
    async open(page: Page, html: string, policy?: string): Promise<void> {
      await page.goto(publish(html, policy), { waitUntil: 'load' })
    },
    /** Returns the text of sdk.js. */
    loader: async () => (await fetch(`${nginx.url}/monitoring/sdk.js`)).text(),
    /** Resolves with the event of this message, or of an error with it. */
    async event(message: string) {
      const isWanted = (received: Received) => messageOf(received) === message
      const received = await sentry.next(isWanted).catch((cause) => {
        throw new Error(`Sentry has not received "${message}"`, { cause })
      })
      return eventOf(received)
    },
    /** Returns how many events of this message have arrived. */
    countEvents: (message: string) =>
      sentry.requests.filter((received) => messageOf(received) === message).length,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

function startProxy(tunnelUrl: string, change: Change) {
  return startUpstream('tunnel', async ({ method, url, headers, body }, response) => {
    const { connection: _, 'accept-encoding': __, ...forwarded } = headers
    const answer = await request(tunnelUrl + url, {
      method: method as 'GET' | 'POST',
      headers: forwarded,
      body: method === 'GET' ? null : body,
    })
    const content = change(url, Buffer.from(await answer.body.arrayBuffer()))
    response
      .writeHead(answer.statusCode, { ...answer.headers, 'content-length': content.length })
      .end(content)
  })
}

function messageOf(received: Received): string | undefined {
  const event = eventOf(received)
  return event?.message ?? event?.exception?.values[0]?.value
}
