/**
 * First screen of the console in trouble, as a browser shows it. Its sentence for each kind of trouble is in
 * `tests/contract/admin/situation.test.ts`.
 */

import { describe, expect } from 'vitest'
import { SITE_HOST } from '../support/browser/chromium.ts'
import { startConsole } from '../support/browser/console.ts'
import { it } from '../support/browser/fixtures.ts'
import { requires } from '../support/requirements.ts'
import { startTunnel } from '../support/tunnel/tunnel.ts'
import { PASSWORD, signIn } from '../support/web/operator.ts'

describe('The first screen of the console', requires('chromium', 'nginx'), () => {
  it('says that Sentry answers 503, also in the title', async ({ chromium }) => {
    await using site = await startConsole(chromium)
    site.sentry.answer({ status: 503 })
    await site.spoolMany(8, site.newError)
    await using visitor = await site.operator()
    const { page } = visitor
    await page
      .getByRole('region', { name: 'Status' })
      .getByText(/^Sentry unreachable since \d\d:\d\d \(.*503.*\)\. \d+\spending\./)
      .waitFor()
    await expect.poll(() => page.title()).toBe('Outage · Overview · Console · Culvert')
  })

  it('says that no tunnel responds, and that there is no problem when they are back', async ({
    chromium,
  }) => {
    await using site = await startConsole(chromium)
    const [killed] = site.site.tunnels
    await using visitor = await site.operator()
    const { page } = visitor
    const banner = page.getByRole('region', { name: 'Status' })
    await banner.getByText(/^No problems since/).waitFor()
    await killed?.kill()
    await banner
      .getByText(
        /^No tunnel has responded since \d\d:\d\d\. New envelopes may be lost\. Spooled envelopes stay on disk\. Act now: read the output of npm start\.$/,
      )
      .waitFor()
    await expect.poll(() => page.title()).toBe('Outage · Overview · Console · Culvert')
    const ports = { PORT: `${killed?.port}`, ADMIN_PORT: new URL(killed?.adminUrl ?? '').port }
    await using _ = await startTunnel({ env: { ...site.env, ...ports } })
    await banner.getByText(/^No problems since \d\d:\d\d\. 0\spending\. No action needed\.$/).waitFor()
  })

  it('says the same in a seventh tab: over HTTP/1.1 a browser opens six connections to a site', async ({
    consoleSite,
  }) => {
    await using visitor = await consoleSite.operator()
    const context = visitor.page.context()
    for (let tab = 1; tab < 7; tab++) {
      const hidden = await context.newPage()
      await hidden.addInitScript(() =>
        Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true }),
      )
      await hidden.goto(`${consoleSite.site.url}/console`)
    }
    const last = await context.newPage()
    await last.goto(`${consoleSite.site.url}/console`)
    await last.getByRole('status').filter({ hasText: 'live' }).waitFor()
    await last
      .getByRole('region', { name: 'Status' })
      .getByText(/^No problems since/)
      .waitFor()
  })

  it('says the same without JavaScript', async ({
    chromium,
    consoleSite: { site, sentry, spoolMany, newError },
  }) => {
    sentry.answer({ status: 503 })
    await spoolMany(8, newError)
    await using visitor = await chromium.visitor({ javaScriptEnabled: false })
    visitor.allowTrouble(/^failed: GET \S+\.js csp$/) // how Chromium reports scripts that do not run
    const { page } = visitor
    const { cookie = '' } = await signIn(`http://127.0.0.1:${site.port}`, { password: PASSWORD })
    const [name = '', value = ''] = cookie.split('=')
    await page.context().addCookies([{ name, value, domain: SITE_HOST, path: '/console' }])
    await expect
      .poll(async () => {
        await page.goto(`${site.url}/console`)
        return page.getByRole('region', { name: 'Status' }).textContent()
      })
      .toMatch(/Sentry unreachable since/)
  })
})
