/** CSP reports for servers that discard them in envelopes, and take them at an endpoint of their own. */

import { describe, expect } from 'vitest'
import { envelopeOf, errorOf } from '../../../support/envelopes.ts'
import { post } from '../../../support/post.ts'
import type { Received } from '../../../support/sentry/received-request.ts'
import type { Sentry } from '../../../support/sentry/sentry.ts'
import { it } from '../../../support/tunnel/fixtures.ts'
import { until } from '../../../support/until.ts'

const SHOP = 'https://shop.example'
const REPORT = {
  'csp-report': {
    'document-uri': `${SHOP}/cart`,
    'blocked-uri': 'https://evil.example/x.js',
    'effective-directive': 'script-src-elem',
    'violated-directive': 'script-src-elem',
  },
}
const VISITOR = { 'x-forwarded-for': '203.0.113.7', 'user-agent': 'Firefox' }

const report = (url: string, path = '/monitoring/reports?p=456') =>
  post(url, {
    path,
    headers: { host: 'shop.example', 'content-type': 'application/csp-report', ...VISITOR },
    body: JSON.stringify(REPORT),
  })

/** As Bugsink. */
function storeErrorsOnly(sentry: Sentry): void {
  const headers = { 'x-sentry-rate-limits': '86400:transaction;span:organization' }
  sentry.answer(({ path }) => (path.endsWith('/envelope/') ? { headers } : { body: '' }))
}

const pathsOf = (requests: readonly Received[]) => requests.map(({ path }) => path)

describe('A CSP report', () => {
  it('is an envelope for a server that stores all categories', async ({ sentry, tunnel }) => {
    await report(tunnel.url)
    await report(tunnel.url)
    expect(pathsOf(sentry.requests)).toEqual(['/api/456/envelope/', '/api/456/envelope/'])
  })

  it('goes to the endpoint of a server that stores errors only, and is sent there again if it was the first post', async ({
    sentry,
    tunnel,
  }) => {
    storeErrorsOnly(sentry)
    expect((await report(tunnel.url)).status).toBeLessThan(300)
    expect(pathsOf(sentry.requests)).toEqual(['/api/456/envelope/', '/api/456/security/'])
    await report(tunnel.url)
    expect(pathsOf(sentry.requests.slice(2))).toEqual(['/api/456/security/'])
    for (const received of sentry.requests.slice(1)) {
      expect(JSON.parse(String(received.body))).toMatchObject(REPORT)
      expect(received.headers).toMatchObject(VISITOR)
      expect(received.headers['content-length']).toBe(String(received.body.length))
    }
    const { upstreams } = await (await tunnel.admin('/status')).json()
    expect(upstreams).toMatchObject([{ csp_reports: 'endpoint' }])
  })

  it('goes to that endpoint from the spool, too', async ({ sentry, tunnel }) => {
    sentry.answer({ status: 503 })
    await report(tunnel.url)
    storeErrorsOnly(sentry)
    const pending = async () => (await (await tunnel.admin('/status')).json()).spool.envelopes
    await until(async () => {
      tunnel.advanceClock(1_000)
      return (await pending()) === 0
    })
    expect(pathsOf(sentry.requests).at(-1)).toBe('/api/456/security/')
  })

  it('is declined as the endpoint says', async ({ sentry, tunnel }) => {
    storeErrorsOnly(sentry)
    await post(tunnel.url, { body: errorOf(sentry.dsn()) })
    sentry.answer({ status: 400, body: { message: 'invalid' } })
    await report(tunnel.url)
    const metrics = await (await tunnel.admin('/metrics')).text()
    expect(metrics).toMatch(/culvert_envelopes_total\{[^}]*outcome="declined"[^}]*\} 1/)
  })

  it('stays in an envelope that holds more than the report', async ({ sentry, tunnel }) => {
    storeErrorsOnly(sentry)
    await post(tunnel.url, { body: errorOf(sentry.dsn()) })
    const item = { header: { type: 'raw_security' }, payload: JSON.stringify(REPORT) }
    const others = [
      [item, { header: { type: 'attachment', length: 1 }, payload: 'a' }],
      [{ header: { type: 'raw_security' }, payload: '{"expect-ct-report":{}}' }],
      [{ header: { type: 'event' }, payload: '{"message":"\\"raw_security\\""}' }],
    ]
    for (const items of others) await post(tunnel.url, { body: envelopeOf({ dsn: sentry.dsn() }, items) })
    expect(pathsOf(sentry.requests)).toEqual(Array(4).fill('/api/456/envelope/'))
    await post(tunnel.url, { body: envelopeOf({ dsn: sentry.dsn() }, [item]) })
    expect(pathsOf(sentry.requests).at(-1)).toBe('/api/456/security/')
  })

  describe('with CSP_REPORTS=endpoint', () => {
    it.override('settings', { CSP_REPORTS: 'endpoint' })

    it('goes to the endpoint of every server', async ({ sentry, tunnel }) => {
      await report(tunnel.url)
      expect(pathsOf(sentry.requests)).toEqual(['/api/456/security/'])
    })
  })

  describe('with CSP_REPORTS=envelope', () => {
    it.override('settings', { CSP_REPORTS: 'envelope' })

    it('is an envelope for every server', async ({ sentry, tunnel }) => {
      storeErrorsOnly(sentry)
      await report(tunnel.url)
      await report(tunnel.url)
      expect(pathsOf(sentry.requests)).toEqual(['/api/456/envelope/', '/api/456/envelope/'])
    })
  })

  describe('with UPSTREAM_ENCODING=gzip', () => {
    it.override('settings', { UPSTREAM_ENCODING: 'gzip', CSP_REPORTS: 'endpoint' })

    it('is not compressed', async ({ sentry, tunnel }) => {
      const long = { 'csp-report': { ...REPORT['csp-report'], 'original-policy': 'a '.repeat(2_000) } }
      await post(tunnel.url, {
        path: '/monitoring/reports?p=456',
        headers: { host: 'shop.example', 'content-type': 'application/csp-report' },
        body: JSON.stringify(long),
      })
      expect(sentry.requests.map(({ path, headers }) => [path, headers['content-encoding']])).toEqual([
        ['/api/456/security/', undefined],
      ])
    })
  })
})
