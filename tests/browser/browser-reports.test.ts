/** Reports that Chromium sends without an SDK: through nginx and a tunnel to Sentry, and from the error lab to the inbox. */

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Chromium, SITE_HOST, startChromium } from '../support/browser/chromium.ts'
import { type Nginx, startNginx } from '../support/nginx/nginx.ts'
import { ROOT } from '../support/node.ts'
import { freePort } from '../support/ports.ts'
import { startUpstream } from '../support/recording-server.ts'
import { requires } from '../support/requirements.ts'
import { hasItem, type Received } from '../support/sentry/received-request.ts'
import { readCertificate, type Sentry, startSentry } from '../support/sentry/sentry.ts'
import { startSite } from '../support/site.ts'
import { startTunnel } from '../support/tunnel/tunnel.ts'
import { PASSWORD, signIn } from '../support/web/operator.ts'

const TLS = join(ROOT, 'tests/fixtures/tls')
const REPORTS = '/monitoring/reports?p=456'

type Page = { headers: Record<string, string>; html: string }

const CSP = "script-src 'nonce-a' 'report-sample'"
const PAGES: Record<string, Page> = {
  '/report-uri': {
    headers: { 'content-security-policy': `${CSP}; report-uri ${REPORTS}` },
    html: '<script>blocked()</script>',
  },
  '/report-to': {
    headers: { 'content-security-policy': `${CSP}; report-to default` },
    html: '<script>blocked()</script>',
  },
  '/sandbox': {
    headers: { 'content-security-policy': `${CSP}; sandbox allow-scripts; report-uri ${REPORTS}` },
    html: '<script>blocked()</script>',
  },
  '/missing-file': { headers: {}, html: '<script>fetch("/no-such-file")</script>' },
  '/deprecated': {
    headers: { 'permissions-policy': 'geolocation=()' },
    html: '<script>navigator.geolocation.getCurrentPosition(() => {}); const x = new XMLHttpRequest(); x.open("GET", "/", false); x.send()</script>',
  },
}

/** Returns the payload of the first item. */
const payloadOf = ({ items }: Received) => JSON.parse(String(items[0]?.payload))

describe('Chromium', requires('chromium', 'nginx'), () => {
  const started = new AsyncDisposableStack()
  let sentry: Sentry
  let nginx: Nginx
  let chromium: Chromium
  let secure: string

  beforeAll(async () => {
    sentry = started.use(await startSentry())
    const env = { SENTRY_DSN: sentry.dsn(), BROWSER_REPORTS: 'on' }
    const tunnel = started.use(await startTunnel({ env }))
    const web = started.use(
      await startUpstream('web', ({ url }, response) => {
        const page = PAGES[url]
        response.writeHead(page ? 200 : 404, { 'content-type': 'text/html', ...page?.headers })
        response.end(`<!doctype html><link rel="icon" href="data:,">${page?.html ?? ''}`)
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
    chromium = started.use(await startChromium({ trusted: readCertificate().cert }))
  })

  afterAll(() => started.disposeAsync())

  /** Opens a page, and returns the report of a type that arrives at Sentry. */
  async function reportOf(url: string, isWanted: (received: Received) => boolean): Promise<Received> {
    await using visitor = await chromium.visitor()
    visitor.allowTrouble(/./) // what is reported is trouble
    await visitor.page.goto(url)
    return await sentry.next(isWanted)
  }

  const isViolation = hasItem('raw_security')
  const isEvent = (type: string) => (received: Received) =>
    hasItem('event')(received) && payloadOf(received).tags?.report_type === type

  it.each([
    ['HTTPS', () => `${secure}/report-uri`],
    ['HTTPS and report-to', () => `${secure}/report-to`],
    ['HTTPS, from a sandboxed page without an origin', () => `${secure}/sandbox`],
    ['HTTP', () => `http://${SITE_HOST}:${nginx.port}/report-uri`],
  ])('reports a violation of the content security policy over %s', async (_, urlOf) => {
    const received = await reportOf(urlOf(), isViolation)
    expect(payloadOf(received)).toMatchObject({
      'csp-report': {
        'document-uri': urlOf(),
        'blocked-uri': 'inline',
        'effective-directive': 'script-src-elem',
        'script-sample': 'blocked()',
        'source-file': urlOf(),
        'line-number': 1,
      },
    })
    expect(received.headers['user-agent']).toContain('Chrome/')
  })

  it('reports a failed request by the headers that nginx adds', async () => {
    const received = await reportOf(`${secure}/missing-file`, hasItem('log'))
    expect(payloadOf(received).items[0]).toMatchObject({
      body: 'The response has the status 404',
      attributes: { 'url.full': { value: `${secure}/no-such-file` }, 'nel.type': { value: 'http.error' } },
    })
  })

  it('reports deprecated features and violations of the permissions policy', async () => {
    const deprecation = await reportOf(`${secure}/deprecated`, isEvent('deprecation'))
    expect(payloadOf(deprecation)).toMatchObject({
      level: 'warning',
      logentry: { formatted: expect.stringMatching(/^Used a deprecated feature: XMLHttpRequestSynchronous/) },
    })
    const violation = await sentry.next(isEvent('permissions-policy-violation'))
    expect(payloadOf(violation).logentry.formatted).toMatch(/^Blocked by the permissions policy: geolocation/)
  })

  it('reports a crash of the page', async () => {
    await using visitor = await chromium.visitor()
    visitor.allowTrouble(/./)
    await visitor.page.goto(`${secure}/`)
    await visitor.page.goto('chrome://crash').catch(() => undefined)
    const crash = await sentry.next(isEvent('crash'))
    expect(payloadOf(crash)).toMatchObject({
      level: 'fatal',
      logentry: { formatted: 'The page crashed' },
      request: { url: `${secure}/` },
    })
  })
})

describe('The error lab', requires('chromium', 'nginx'), () => {
  it('shows a violation of the content security policy in the inbox', async () => {
    await using site = await startSite({ env: { OPERATOR_PASSWORD: PASSWORD } })
    await using chromium = await startChromium()
    await using visitor = await chromium.visitor()
    visitor.expectTrouble(/console: .*inline event handler.* violates .* Content Security Policy/)
    visitor.allowTrouble(/ERR_ABORTED/)
    const { page } = visitor
    await page.goto(`${site.url}/lab`)
    const name = 'Violate the security policy'
    await page.getByRole('button', { name }).click()
    const outcome = page.getByRole('listitem', { name }).getByRole('status')
    await outcome.filter({ hasText: 'reported by the browser' }).waitFor()
    await Promise.race(
      site.tunnels.map((tunnel) =>
        tunnel.receipt(({ items }) => items.some(({ type }) => type === 'raw_security')),
      ),
    )

    const { cookie = '' } = await signIn(`http://127.0.0.1:${site.port}`, { password: PASSWORD })
    const [cookieName = '', value = ''] = cookie.split('=')
    await page.context().addCookies([{ name: cookieName, value, domain: SITE_HOST, path: '/console' }])
    await page.goto(`${site.url}/console/inbox?type=raw_security`)
    await page.getByRole('link', { name: /Blocked by script-src-attr: inline/ }).click()
    const panel = page.getByRole('region', { name: 'Violation of the content security policy' })
    await panel.waitFor()
    const text = await panel.innerText()
    expect(text).toMatch(/Directive\s+script-src-attr/)
    expect(text).toMatch(/Blocked\s+inline/)
    expect(text).toMatch(/Source\s+http:\/\/shop\.example:\d+\/\S+:\d+/)
    expect(text).toMatch(/'lab [0-9a-f]{8}, on purpose'/)
  }, 600_000)
})
