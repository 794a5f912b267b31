/** Reach tests in Chromium: the request to Sentry, and the result that the tunnel gets. */

import type { Page } from 'playwright-core'
import { beforeAll, describe, expect } from 'vitest'
import { buildSdk } from '../../scripts/build/sdk.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { errorOf } from '../support/envelopes.ts'
import { perFile } from '../support/lifetime.ts'
import { ROOT } from '../support/node.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'

const isDirect = (url: URL) => url.pathname.endsWith('/envelope/')

const it = base
  .extend('sentryOptions', perFile, () => ({}))
  .extend('siteOptions', perFile, ({ sentry }) => {
    sentry.allowUnexpected() // the test has no items
    return { env: { SENTRY_DSN: sentry.dsn(), LAB: 'on', REACH_SAMPLE_RATE: '1' } }
  })
/** Opens the error lab, which sends nothing before a button is pressed, and returns the result of its reach test. */
async function testFrom(page: Page, site: { url: string }): Promise<string | null> {
  const sent = page.waitForRequest((request) => new URL(request.url()).pathname === '/monitoring/reach')
  await page.goto(`${site.url}/lab`)
  return (await sent).postData()
}

describe('The reach test', requires('chromium', 'nginx'), () => {
  beforeAll(() => buildSdk(ROOT)) // its script is one of the tunnel's SDK

  it('posts an envelope without items to Sentry, which is reachable', async ({ sentry, site, visitor }) => {
    await post(`http://127.0.0.1:${site.port}`, { body: errorOf(sentry.dsn()) }) // so that Sentry has responded
    const direct = visitor.page.waitForRequest((request) => isDirect(new URL(request.url())))
    expect(await testFrom(visitor.page, site)).toBe('reachable')
    const request = await direct
    expect({ method: request.method(), body: request.postData() }).toEqual({ method: 'POST', body: '{}' })
    expect(request.headers().referer ?? '').toBe('')
    expect(sentry.requests.flatMap(({ items }) => items)).toHaveLength(1) // of the error above
    await expect
      .poll(async () => {
        const metrics = await Promise.all(
          site.tunnels.map(async (tunnel) => (await tunnel.admin('/metrics')).text()),
        )
        return metrics.flatMap((text) => text.match(/^culvert_reach_tests_total\{.*$/gm) ?? [])
      })
      .toEqual([expect.stringMatching(/result="reachable".* 1$/)])
  })

  it('finds that a blocker stops the request', async ({ site, visitor }) => {
    visitor.expectTrouble(/ERR_BLOCKED_BY_CLIENT/)
    await visitor.page.route(isDirect, (route) => route.abort('blockedbyclient'))
    expect(await testFrom(visitor.page, site)).toBe('blocked')
  })

  it('does not count the Content-Security-Policy of the page as a blocker', async ({ site, visitor }) => {
    visitor.expectTrouble(/Content Security Policy|content-security-policy/i)
    visitor.allowTrouble(/failed: POST/)
    await visitor.page.addInitScript(() =>
      document.addEventListener('DOMContentLoaded', () => {
        const policy = { httpEquiv: 'Content-Security-Policy', content: "connect-src 'self'" }
        document.head.append(Object.assign(document.createElement('meta'), policy))
      }),
    )
    expect(await testFrom(visitor.page, site)).toBe('inconclusive')
  })
})
