/** Reports that Firefox sends without an SDK, through nginx and a tunnel to Sentry. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Firefox, startFirefox } from '../support/browser/firefox.ts'
import { type ReportingSite, startReportingSite } from '../support/browser/reporting-site.ts'
import { requires } from '../support/requirements.ts'
import { hasItem } from '../support/sentry/received-request.ts'

describe('Firefox', requires('firefox', 'nginx'), () => {
  const started = new AsyncDisposableStack()
  let site: ReportingSite
  let firefox: Firefox

  beforeAll(async () => {
    site = started.use(await startReportingSite())
    firefox = started.use(await startFirefox())
  })

  afterAll(() => started.disposeAsync())

  it.each([
    ['http', '/report-uri', 'application/csp-report', 'of the page'],
    ['http', '/sandbox', 'application/csp-report', 'null'],
    ['https', '/report-uri', 'application/csp-report', 'of the page'],
    ['https', '/report-to', 'application/reports+json', 'of the page'],
  ] as const)(
    'reports a violation of the content security policy over %s: %s',
    async (scheme, path, contentType, origin) => {
      const visitor = await firefox.visitor()
      const tab = await visitor.newTab()
      const url = site[scheme] + path
      await tab.open(url)
      const { items, headers } = await site.sentry.next(hasItem('raw_security'))
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
      const post = site.posts.findLast((each) => each.headers['content-type'] === contentType)
      expect(post?.headers.origin).toBe(origin === 'null' ? 'null' : site[scheme])
      await tab.close()
    },
  )
})
