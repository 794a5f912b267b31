/** Reports that Chromium sends without an SDK: through nginx and a tunnel to Sentry, and from the error lab to the inbox. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Chromium, SITE_HOST, shareChromium, startChromium } from '../support/browser/chromium.ts'
import { untilListed } from '../support/browser/console.ts'
import { type ReportingSite, startReportingSite } from '../support/browser/reporting-site.ts'
import { requires } from '../support/requirements.ts'
import { hasItem, type Received } from '../support/sentry/received-request.ts'
import { readCertificate } from '../support/sentry/sentry.ts'
import { startSite } from '../support/site.ts'
import { PASSWORD, signIn } from '../support/web/operator.ts'

const PAGES = {
  '/missing-file': { html: '<script>fetch("/no-such-file")</script>' },
  '/deprecated': {
    headers: { 'permissions-policy': 'geolocation=()' },
    html: '<script>navigator.geolocation.getCurrentPosition(() => {}); const x = new XMLHttpRequest(); x.open("GET", "/", false); x.send()</script>',
  },
}

/** Returns the payload of the first item. */
const payloadOf = ({ items }: Received) => JSON.parse(String(items[0]?.payload))

describe('Chromium', requires('chromium', 'nginx'), () => {
  const started = new AsyncDisposableStack()
  let site: ReportingSite
  let chromium: Chromium

  beforeAll(async () => {
    site = started.use(await startReportingSite(PAGES))
    chromium = started.use(await startChromium({ trusted: readCertificate().cert }))
  })

  afterAll(() => started.disposeAsync())

  /** Opens a page, and returns the report of a type that arrives at Sentry. */
  async function reportOf(url: string, isWanted: (received: Received) => boolean): Promise<Received> {
    await using visitor = await chromium.visitor()
    visitor.allowTrouble(/./) // what is reported is trouble
    await visitor.page.goto(url)
    return await site.sentry.next(isWanted)
  }

  const isViolation = hasItem('raw_security')
  const isEvent = (type: string) => (received: Received) =>
    hasItem('event')(received) && payloadOf(received).tags?.report_type === type

  /** Returns the latest post of this type. */
  const postOf = (contentType: string) => {
    const found = site.posts.findLast(({ headers }) => headers['content-type'] === contentType)
    if (!found) throw new Error(`no post of ${contentType}`)
    return found
  }

  it.each([
    ['https', '/report-uri', 'application/csp-report', 'of the page'],
    ['https', '/report-to', 'application/reports+json', 'of the page'],
    ['https', '/sandbox', 'application/csp-report', 'null'],
    ['http', '/report-uri', 'application/csp-report', 'of the page'],
  ] as const)(
    'reports a violation of the content security policy over %s: %s',
    async (scheme, path, contentType, origin) => {
      const url = site[scheme] + path
      const received = await reportOf(url, isViolation)
      expect(payloadOf(received)).toMatchObject({
        'csp-report': {
          'document-uri': url,
          'blocked-uri': 'inline',
          'effective-directive': 'script-src-elem',
          'script-sample': 'blocked()',
          'source-file': url,
          'line-number': 1,
        },
      })
      expect(received.headers['user-agent']).toContain('Chrome/')
      expect(postOf(contentType).headers.origin).toBe(origin === 'null' ? 'null' : site[scheme])
    },
  )

  it('reports a failed request by the headers of the page', async () => {
    const received = await reportOf(`${site.https}/missing-file`, hasItem('log'))
    expect(payloadOf(received).items[0]).toMatchObject({
      body: 'The response has the status 404',
      attributes: {
        'url.full': { value: `${site.https}/no-such-file` },
        'nel.type': { value: 'http.error' },
      },
    })
  })

  it('reports deprecated features and violations of the permissions policy', async () => {
    const deprecation = await reportOf(`${site.https}/deprecated`, isEvent('deprecation'))
    expect(payloadOf(deprecation)).toMatchObject({
      level: 'warning',
      logentry: { formatted: expect.stringMatching(/^Used a deprecated feature: XMLHttpRequestSynchronous/) },
    })
    const violation = await site.sentry.next(isEvent('permissions-policy-violation'))
    expect(payloadOf(violation).logentry.formatted).toMatch(/^Blocked by the permissions policy: geolocation/)
  })

  it('reports a crash of the page', async () => {
    await using visitor = await chromium.visitor()
    visitor.allowTrouble(/./)
    await visitor.page.goto(`${site.https}/`)
    await visitor.page.goto('chrome://crash').catch(() => undefined)
    const crash = await site.sentry.next(isEvent('crash'))
    expect(payloadOf(crash)).toMatchObject({
      level: 'fatal',
      logentry: { formatted: 'The page crashed' },
      request: { url: `${site.https}/` },
    })
  })
})

describe('The error lab', requires('chromium', 'nginx'), () => {
  it('shows a violation of the content security policy in the inbox', async () => {
    await using site = await startSite({ env: { OPERATOR_PASSWORD: PASSWORD } })
    const chromium = await shareChromium()
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
    const violation = page.getByRole('link', { name: /Blocked by script-src-attr: inline/ })
    await untilListed(violation)
    await violation.click()
    const panel = page.getByRole('region', { name: 'Violation of the content security policy' })
    await panel.waitFor()
    const text = await panel.innerText()
    expect(text).toMatch(/Directive\s+script-src-attr/)
    expect(text).toMatch(/Blocked\s+inline/)
    expect(text).toMatch(/Source\s+http:\/\/shop\.example:\d+\/\S+:\d+/)
    expect(text).toMatch(/'lab [0-9a-f]{8}, on purpose'/)
  }, 600_000)
})
