/** A page whose tunnel has a host of its own, without nginx: SDK, errors, preflight requests and ad blockers. */

import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Request } from '@ghostery/adblocker'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildSdk } from '../../scripts/build/sdk.ts'
import { readLists, readRules } from '../support/browser/adblock.ts'
import { SITE_HOST, startChromium, type Visitor } from '../support/browser/chromium.ts'
import { ROOT } from '../support/node.ts'
import { startUpstream } from '../support/recording-server.ts'
import { requires } from '../support/requirements.ts'
import { eventOf } from '../support/sentry/received-request.ts'
import { type Sentry, startSentry } from '../support/sentry/sentry.ts'
import { startTunnel } from '../support/tunnel/tunnel.ts'

const TUNNEL_HOST = `errors.${SITE_HOST}`
const TUNNEL = `http://${TUNNEL_HOST}`
const POLICY = `default-src 'none'; script-src 'unsafe-inline' ${TUNNEL}; connect-src ${TUNNEL}`
const PAGE = `<!doctype html>
  <script src="${TUNNEL}/monitoring/sdk.js" crossorigin></script>
  <script>setTimeout(() => { throw new Error('from another host') })</script>`

describe('A page with the tunnel on another host', requires('chromium'), () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let site: string
  let visitor: Visitor
  const methods: string[] = []

  beforeAll(async () => {
    await buildSdk(ROOT)
    sentry = started.use(await startSentry())
    const web = started.use(
      await startUpstream('web', (_, response) => {
        response.setHeader('content-security-policy', POLICY)
        response.setHeader('content-type', 'text/html').end(PAGE)
      }),
    )
    site = `http://${SITE_HOST}:${web.address.split(':')[1]}`
    const env = { SENTRY_DSN: sentry.dsn(), ALLOWED_ORIGINS: site }
    const tunnel = started.use(await startTunnel({ env }))
    const proxy = started.use(await startProxy(tunnel.port, methods))
    const leads = { [TUNNEL_HOST]: `127.0.0.1:${proxy.port}` }
    const chromium = started.use(await startChromium({ leads }))
    visitor = started.use(await chromium.visitor())
  })

  afterAll(() => started.disposeAsync())

  it('loads the SDK and reports its error, without a preflight request and past ad blockers', async () => {
    visitor.expectTrouble(/from another host/)
    const asked: { url: string; type: string }[] = []
    visitor.page.on('request', (each) => void asked.push({ url: each.url(), type: each.resourceType() }))
    await visitor.page.goto(site)
    const { headers } = await sentry.next(
      (received) => eventOf(received)?.exception?.values[0]?.value === 'from another host',
    )
    expect(headers).toMatchObject({ origin: site })
    expect(methods).toContain('POST')
    expect(methods).not.toContain('OPTIONS')
    for (const engine of [readRules(), readLists()])
      for (const { url, type } of asked) {
        const details = { url, type: type as 'script' | 'fetch', sourceUrl: `${site}/` }
        expect([url, engine.match(Request.fromRawDetails(details)).match]).toEqual([url, false])
      }
  })

  it('asks for permission once for posts that need it, and reads the response', async () => {
    const statuses = await visitor.page.evaluate(async (url) => {
      const headers = { 'content-type': 'application/x-sentry-envelope' }
      const first = await fetch(url, { method: 'POST', headers, body: '{}' })
      const second = await fetch(url, { method: 'POST', headers, body: '{}' })
      return [first.status, second.status]
    }, `${TUNNEL}/monitoring`)
    expect(statuses).toEqual([200, 200])
    expect(methods.filter((method) => method === 'OPTIONS')).toHaveLength(1)
  })
})

/** Starts a proxy that records the methods of requests. */
async function startProxy(tunnelPort: number, methods: string[]) {
  const server = createServer((incoming, response) => {
    const { method = '', url = '', headers } = incoming
    methods.push(method)
    const outgoing = request({ host: '127.0.0.1', port: tunnelPort, method, path: url, headers })
    outgoing.on('error', () => response.destroy())
    outgoing.on('response', (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers))
    })
    incoming.pipe(outgoing)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose](): Promise<void> {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
