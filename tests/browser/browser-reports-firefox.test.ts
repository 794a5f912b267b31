/** Reports that Firefox sends without an SDK, through nginx and a tunnel to Sentry. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SITE_HOST } from '../support/browser/chromium.ts'
import { type Firefox, startFirefox } from '../support/browser/firefox.ts'
import { type Nginx, startNginx } from '../support/nginx/nginx.ts'
import { startUpstream } from '../support/recording-server.ts'
import { requires } from '../support/requirements.ts'
import { hasItem } from '../support/sentry/received-request.ts'
import { type Sentry, startSentry } from '../support/sentry/sentry.ts'
import { startTunnel } from '../support/tunnel/tunnel.ts'

const POLICY = "script-src 'nonce-a' 'report-sample'; report-uri /monitoring/reports?p=456"

describe('Firefox', requires('firefox', 'nginx'), () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let nginx: Nginx
  let firefox: Firefox

  beforeAll(async () => {
    sentry = started.use(await startSentry())
    const tunnel = started.use(await startTunnel({ env: { SENTRY_DSN: sentry.dsn() } }))
    const web = started.use(
      await startUpstream('web', ({ url }, response) => {
        const sandbox = url === '/sandbox' ? '; sandbox allow-scripts' : ''
        response.setHeader('content-security-policy', POLICY + sandbox)
        response.setHeader('content-type', 'text/html').end('<!doctype html><script>blocked()</script>')
      }),
    )
    nginx = started.use(await startNginx({ tunnels: [`127.0.0.1:${tunnel.port}`], web: web.address }))
    firefox = started.use(await startFirefox())
  }, 120_000)

  afterAll(() => started.disposeAsync())

  it.each([
    ['a page', '/'],
    ['a sandboxed page, without an origin', '/sandbox'],
  ])('reports a violation of the content security policy of %s', async (_, path) => {
    const visitor = await firefox.visitor()
    const tab = await visitor.newTab()
    const url = `http://${SITE_HOST}:${nginx.port}${path}`
    await tab.open(url)
    const { items, headers } = await sentry.next(hasItem('raw_security'))
    expect(JSON.parse(String(items[0]?.payload))).toMatchObject({
      'csp-report': {
        'document-uri': url,
        'blocked-uri': 'inline',
        'effective-directive': 'script-src-elem',
        'script-sample': 'blocked()',
        'source-file': url,
        'line-number': 1,
      },
    })
    expect(headers['user-agent']).toContain('Firefox/')
    await tab.close()
  })
})
