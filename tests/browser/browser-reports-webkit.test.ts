/** Reports that WebKit sends without an SDK, through nginx and a tunnel to Sentry. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ReportingSite, startReportingSite } from '../support/browser/reporting-site.ts'
import type { Engine } from '../support/browser/tab.ts'
import { startWebKit } from '../support/browser/webkit.ts'
import { requires } from '../support/requirements.ts'
import { hasItem } from '../support/sentry/received-request.ts'

const CSP = "script-src 'nonce-a' 'report-sample'"
const HTML = '<script>blocked()</script>'
const ENDPOINT = { 'reporting-endpoints': 'csp="/monitoring/reports?p=456"' }
const REPORT_ONLY = 'content-security-policy-report-only'

/** Pages with headers of their own: nginx names an endpoint over HTTPS only. */
const PAGES = {
  '/report-uri-only': {
    headers: { [REPORT_ONLY]: `${CSP}; report-uri /monitoring/reports?p=456` },
    html: HTML,
  },
  '/endpoint': { policy: `${CSP}; report-to csp`, headers: ENDPOINT, html: HTML },
  '/endpoint-only': { headers: { ...ENDPOINT, [REPORT_ONLY]: `${CSP}; report-to csp` }, html: HTML },
}

/** Reports of `report-uri` have neither. */
const UNKNOWN = { disposition: undefined, sample: undefined }

describe('WebKit', requires('webkit', 'nginx'), () => {
  const started = new AsyncDisposableStack()
  let site: ReportingSite
  let webkit: Engine

  beforeAll(async () => {
    site = started.use(await startReportingSite(PAGES))
    webkit = started.use(await startWebKit())
  })

  afterAll(() => started.disposeAsync())

  it.each([
    ['http', '/report-uri', UNKNOWN],
    ['http', '/report-uri-only', UNKNOWN],
    ['http', '/sandbox', UNKNOWN],
    ['http', '/endpoint', { disposition: 'enforce', sample: 'blocked()' }],
    ['http', '/endpoint-only', { disposition: 'report', sample: 'blocked()' }],
    ['https', '/report-uri', UNKNOWN],
    ['https', '/report-to', { disposition: 'enforce', sample: 'blocked()' }],
  ] as const)(
    'reports a violation of the content security policy over %s: %s',
    async (scheme, path, { disposition, sample }) => {
      await using visitor = await webkit.visitor()
      const tab = await visitor.newTab()
      // WebKit posts to endpoints that are trustworthy, and finds no other host without its proxy.
      const { protocol, port } = new URL(site[scheme])
      const url = `${protocol}//localhost:${port}${path}`
      await tab.open(url)
      const { items, headers } = await site.sentry.next(hasItem('raw_security'))
      const report = JSON.parse(String(items[0]?.payload))['csp-report']
      expect(report).toMatchObject({
        'document-uri': url,
        'blocked-uri': 'inline',
        'effective-directive': 'script-src-elem',
      })
      expect([report.disposition, report['script-sample']]).toEqual([disposition, sample])
      expect(headers['user-agent']).toContain('AppleWebKit/')
      expect(site.posts.at(-1)?.headers).toMatchObject({
        'content-type': 'application/csp-report',
        origin: 'null',
      })
    },
  )
})
