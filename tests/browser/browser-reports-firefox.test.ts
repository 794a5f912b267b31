/** Reports that Firefox sends without an SDK, through nginx and a tunnel to Sentry. */

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SITE_HOST } from '../support/browser/chromium.ts'
import { type Firefox, startFirefox } from '../support/browser/firefox.ts'
import { type Nginx, startNginx } from '../support/nginx/nginx.ts'
import { ROOT } from '../support/node.ts'
import { freePort } from '../support/ports.ts'
import { startUpstream } from '../support/recording-server.ts'
import { requires } from '../support/requirements.ts'
import { hasItem } from '../support/sentry/received-request.ts'
import { type Sentry, startSentry } from '../support/sentry/sentry.ts'
import { startTunnel } from '../support/tunnel/tunnel.ts'

const TLS = join(ROOT, 'tests/fixtures/tls')
const CSP = "script-src 'nonce-a' 'report-sample'"
const REPORT_URI = 'report-uri /monitoring/reports?p=456'

/** Policies by path; `default` is the endpoint that nginx names. */
const POLICIES: Record<string, string> = {
  '/report-uri': `${CSP}; ${REPORT_URI}`,
  '/sandbox': `${CSP}; sandbox allow-scripts; ${REPORT_URI}`,
  '/report-to': `${CSP}; report-to default`,
}

describe('Firefox', requires('firefox', 'nginx'), () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let nginx: Nginx
  let firefox: Firefox
  let secure: string

  beforeAll(async () => {
    sentry = started.use(await startSentry())
    const env = { SENTRY_DSN: sentry.dsn(), BROWSER_REPORTS: 'on' }
    const tunnel = started.use(await startTunnel({ env }))
    const web = started.use(
      await startUpstream('web', ({ url }, response) => {
        response.setHeader('content-security-policy', POLICIES[url] ?? '')
        response.setHeader('content-type', 'text/html').end('<!doctype html><script>blocked()</script>')
      }),
    )
    const tlsPort = await freePort()
    nginx = started.use(
      await startNginx({
        tunnels: [`127.0.0.1:${tunnel.port}`],
        web: web.address,
        env: {
          ...env,
          LISTEN_TLS: `127.0.0.1:${tlsPort}`,
          TLS_CERTIFICATE: join(TLS, 'cert.pem'),
          TLS_KEY: join(TLS, 'key.pem'),
        },
      }),
    )
    secure = `https://${SITE_HOST}:${tlsPort}`
    firefox = started.use(await startFirefox())
  }, 120_000)

  afterAll(() => started.disposeAsync())

  it.each([
    ['HTTP', () => `http://${SITE_HOST}:${nginx.port}/report-uri`],
    ['HTTP, from a sandboxed page without an origin', () => `http://${SITE_HOST}:${nginx.port}/sandbox`],
    ['HTTPS', () => `${secure}/report-uri`],
    ['HTTPS and report-to', () => `${secure}/report-to`],
  ])('reports a violation of the content security policy over %s', async (_, urlOf) => {
    const visitor = await firefox.visitor()
    const tab = await visitor.newTab()
    const url = urlOf()
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
