/** A Next.js app with `@sentry/nextjs` as installed: DROP_NEXT_NOISE keeps its not-found page and its signals from Sentry. */

import { describe, expect } from 'vitest'
import { freePort } from '../../scripts/start/free-port.ts'
import { it } from '../support/browser/fixtures.ts'
import { startNginx } from '../support/nginx/nginx.ts'
import { requires } from '../support/requirements.ts'
import { hasItem, type Received } from '../support/sentry/received-request.ts'
import type { Sentry } from '../support/sentry/sentry.ts'
import { cloud } from '../support/site.ts'
import { startTunnel } from '../support/tunnel/tunnel.ts'
import { startNextApp } from '../support/web/next-app.ts'

/** The first test builds the app, beside other tests. */
const BUILDING_TIMEOUT_MS = 300_000

type Lifecycle = 'stream' | 'static'

/** Starts the app behind nginx, as on an operator's server. */
async function startShop(sentry: Sentry, traceLifecycle: Lifecycle) {
  await using starting = new AsyncDisposableStack()
  const { env, reroute } = cloud(sentry)
  const tunnel = starting.use(await startTunnel({ env, reroute }))
  const port = await freePort()
  const nginx = starting.use(
    await startNginx({ tunnels: [`127.0.0.1:${tunnel.port}`], web: `127.0.0.1:${port}` }),
  )
  starting.use(
    await startNextApp(port, {
      DSN: env.SENTRY_DSN ?? '',
      TUNNEL: `${nginx.innerUrl}/monitoring`,
      BROWSER_TUNNEL: '/monitoring',
      TRACE_LIFECYCLE: traceLifecycle,
    }),
  )
  const started = starting.move()
  return { tunnel, url: nginx.url, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

/** Names of the transactions and segments in an envelope. */
function tracesIn({ items }: Received): string[] {
  return items.flatMap(({ header, payload }): string[] => {
    if (header.type === 'transaction') return [JSON.parse(String(payload)).transaction]
    if (header.type !== 'span') return []
    const spans: { name: string; is_segment: boolean }[] = JSON.parse(String(payload)).items
    return spans.filter((span) => span.is_segment).map(({ name }) => name)
  })
}

describe('An app with @sentry/nextjs', requires('chromium', 'nginx'), () => {
  it.for<[Lifecycle, number]>([
    ['stream', 2], // of the server and of the browser; spans that come later are also filtered
    ['static', 1], // the server's SDK drops its own
  ])(
    'delivers no report of the not-found page and of signals: %s',
    { timeout: BUILDING_TIMEOUT_MS },
    async ([lifecycle, reports], { sentry, chromium }) => {
      await using shop = await startShop(sentry, lifecycle)
      const noise = (...types: string[]) =>
        shop.tunnel.receipts.filter(
          ({ reason, items }) => reason === 'next-noise' && items.some(({ type }) => types.includes(type)),
        ).length
      await using visitor = await chromium.visitor()
      visitor.allowTrouble(/404|ERR_ABORTED/)

      await visitor.page.goto(`${shop.url}/nosuch`)
      await expect.poll(() => noise('span', 'transaction')).toBeGreaterThanOrEqual(reports)
      await visitor.page.goto(`${shop.url}/caught`)
      await expect.poll(() => noise('event')).toBe(1)
      await visitor.page.goto(`${shop.url}/moved`)
      await expect.poll(() => noise('event')).toBe(2)

      await visitor.page.goto(shop.url)
      const traces = () => sentry.requests.flatMap(tracesIn)
      await expect.poll(traces).toEqual(expect.arrayContaining(['GET /', '/', 'GET /caught']))
      expect(traces().filter((name) => /not-found|nosuch|404|Pageload/.test(name))).toEqual([])
      expect(sentry.requests.filter(hasItem('event'))).toEqual([])
    },
  )
})
