/**
 * The status banner of the overview in real Chromium, in order: without a problem, during and after outages of Sentry, and without tunnels. Its
 * sentence for each kind of trouble is in `tests/contract/admin/situation.test.ts`.
 */

import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { SITE_HOST } from '../support/browser/chromium.ts'
import { it } from '../support/browser/fixtures.ts'
import { requires } from '../support/requirements.ts'
import { startTunnel } from '../support/tunnel/tunnel.ts'
import { PASSWORD, signIn } from '../support/web/operator.ts'

const STREAM = /\/console\/live(\?|$)/

describe('The status banner', requires('chromium', 'nginx'), () => {
  const iconOf = (page: Page) => page.locator('link[rel~="icon"]').first().getAttribute('href')

  /** Returns the icon that shows the state: Next.js sets another one after the first render. */
  const stateIconOf = async (page: Page) => {
    await expect.poll(() => iconOf(page)).toMatch(/^data:image\/svg\+xml,/)
    return iconOf(page)
  }

  it('shows the state as unknown while the console is not reachable, also in the title and the icon', async ({
    consoleSite,
  }) => {
    await using visitor = await consoleSite.operator()
    const { page } = visitor
    await expect.poll(() => page.title()).toBe('OK · Overview · Console · Culvert')
    const okIcon = await stateIconOf(page)
    visitor.allowTrouble(/console\/live|ERR_FAILED/)
    await page.route(STREAM, (route) => route.abort())
    await page.reload()
    const banner = page.getByRole('region', { name: 'Status' })
    await banner
      .getByText(
        /^No connection to the console since \d\d:\d\d\. Last known state: OK\. No problems since .* \d+\spending\.$/,
      )
      .waitFor()
    await expect.poll(() => page.title()).toBe('Unknown · Overview · Console · Culvert')
    await expect.poll(() => iconOf(page)).not.toBe(okIcon)
    await page.unroute(STREAM)
    await expect.poll(() => page.title()).toBe('OK · Overview · Console · Culvert')
    await expect.poll(() => iconOf(page)).toBe(okIcon)
  })

  it('shows the state in a seventh tab: over HTTP/1.1 a browser opens six connections to a site', async ({
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

  it('shows losses and the next action, also in the title and the icon of the tab', async ({
    consoleSite,
  }) => {
    await using visitor = await consoleSite.operator()
    const { page } = visitor
    const banner = page.getByRole('region', { name: 'Status' })
    await banner.getByText(/^No problems since \d\d:\d\d\. 0\spending\. No action needed\.$/).waitFor()
    await expect.poll(() => page.title()).toBe('OK · Overview · Console · Culvert')
    const okIcon = await stateIconOf(page)

    await consoleSite.sentry.away()
    await consoleSite.spoolMany(20, consoleSite.newError)
    await banner.getByText('Outage').waitFor()
    await banner
      .getByText(
        /^Sentry unreachable since \d\d:\d\d \(no connection: ECONNREFUSED\)\. 20\spending\. First expiry tomorrow \d\d:\d\d\. (?:No action needed|Act: .*)\.$/,
      )
      .waitFor()
    await expect.poll(() => page.title()).toBe('Outage · Overview · Console · Culvert')
    await expect.poll(() => iconOf(page)).not.toBe(okIcon)

    await consoleSite.sentry.back()
    await banner.getByText(/^No problems since \d\d:\d\d\. 0\spending\./).waitFor()
    await page.locator('summary', { hasText: 'Results' }).click()
    const results = page.getByRole('table', { name: 'Envelopes by result' })
    await results.getByRole('row', { name: 'delivered after spooling 20 100 %' }).waitFor()
    await expect.poll(() => page.title()).toBe('OK · Overview · Console · Culvert')

    const told =
      /Outage \d\d:\d\d(?:–\d\d:\d\d)?: Sentry unreachable \(no connection: ECONNREFUSED\)\. 20 delivered late, 0 lost\.$/
    await banner.getByText(told).waitFor()
    await page.locator('summary', { hasText: 'Incidents' }).click()
    await page.getByRole('list', { name: 'Incidents, newest first' }).getByText(told).waitFor()
    await page.reload()
    await banner.getByText(told).waitFor()
  })

  it('shows the state without JavaScript', async ({
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
    const banner = async () => {
      await page.goto(`${site.url}/console`)
      return page.getByRole('region', { name: 'Status' }).textContent()
    }
    await expect.poll(banner).toMatch(/Sentry unreachable since \d\d:\d\d UTC \(HTTP 503\)\./)
    sentry.answer({})
    await expect.poll(banner).toMatch(/No problems since .*UTC\. 0\spending\./)
  })

  it('says that no tunnel responds, and that there is no problem when one is back', async ({
    consoleSite,
  }) => {
    const [killed] = consoleSite.site.tunnels
    await using visitor = await consoleSite.operator()
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
    await using _ = await startTunnel({ env: { ...consoleSite.env, ...ports } })
    await banner.getByText(/^No problems since \d\d:\d\d\. 0\spending\./).waitFor()
  })

  it('takes nothing for empty or known when no tunnel responds', async ({ consoleSite }) => {
    await consoleSite.site.tunnel.kill()
    const look = async (path: string, text: RegExp | string) => {
      await using visitor = await consoleSite.operator(path)
      const { page } = visitor
      await page.getByRole('main').getByText(text).first().waitFor()
      expect(await page.getByText(/No envelopes yet|No envelopes match/).count()).toBe(0)
      const lines = page.getByRole('figure', { name: /^Line for/ })
      expect(await lines.filter({ hasNotText: 'REACH_SAMPLE_RATE' }).count()).toBe(0) // which replaces no value
    }
    await look('', /^No tunnel (has responded since|responds\.)/)
    await look('/live-feed', 'No tunnel responds, so it is not known which envelopes arrived.')
    await look('/setup', 'No tunnel responds, so the DSNs in force are not known.')
    await look('/rejections', /are missing/)
    await look('/projects', 'No tunnel responds, so there is no data.')
    await look('/inbox', /respon/)
  })
})
