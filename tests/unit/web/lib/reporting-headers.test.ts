/** Headers that ask browsers for reports about web's pages. */

import { describe, expect, it } from 'vitest'
import { reportingHeaders } from '../../../../web/lib/security-headers.ts'

const HTTPS = { 'x-forwarded-proto': 'https' }
const URL_OF_REPORTS = '/errors/in-here/reports?p=456&o=123&r=us'

describe('The headers of a page', () => {
  it('ask browsers for reports', () => {
    const headers = Object.fromEntries(reportingHeaders(new Headers(HTTPS), '/', URL_OF_REPORTS))
    expect(headers['reporting-endpoints']).toBe(`default="${URL_OF_REPORTS}"`)
    expect(JSON.parse(headers['report-to'] ?? '')).toEqual({
      group: 'default',
      max_age: 86_400,
      endpoints: [{ url: URL_OF_REPORTS }],
    })
    expect(JSON.parse(headers.nel ?? '')).toEqual({ report_to: 'default', max_age: 86_400 })
  })

  it.each<[string, Record<string, string>, string, string | undefined]>([
    ['over HTTP', {}, '/', URL_OF_REPORTS],
    ['for a visitor with Sec-GPC', { ...HTTPS, 'sec-gpc': '1' }, '/', URL_OF_REPORTS],
    ['of the console', HTTPS, '/console', URL_OF_REPORTS],
    ['below the console', HTTPS, '/console/live', URL_OF_REPORTS],
    ['without LAB', HTTPS, '/', undefined],
  ])('do not ask for reports %s', (_, headers, path, url) => {
    expect(reportingHeaders(new Headers(headers), path, url)).toEqual([])
  })
})
