/** First screen of the console in several kinds of trouble: it names the cause and one action. */

import { randomBytes } from 'node:crypto'
import { describe, expect } from 'vitest'
import { SITE_HOST } from '../support/browser/chromium.ts'
import { type ConsoleSite, startConsole } from '../support/browser/console.ts'
import { it } from '../support/browser/fixtures.ts'
import { attachmentOf, errorOf } from '../support/envelopes.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { startTunnel } from '../support/tunnel/tunnel.ts'
import { PASSWORD, signIn } from '../support/web/operator.ts'

type Scenario = {
  name: string
  settings?: Record<string, string>
  cause(site: ConsoleSite): Promise<unknown>
  banner: RegExp
  title: 'OK' | 'Degraded' | 'Outage'
}

const times = <T>(many: number, run: () => Promise<T>) => Promise.all(Array.from({ length: many }, run))

const SPOOL_BYTES = 64 * 1024 * 1024 // the smallest spool

const SCENARIOS: Scenario[] = [
  {
    name: 'nothing has arrived',
    cause: async () => {},
    banner: /^No problems since \d\d:\d\d\. 0\spending\. No action needed\.$/,
    title: 'OK',
  },
  {
    name: 'Sentry answers 503',
    async cause({ sentry, spoolMany, newError }) {
      sentry.answer({ status: 503 })
      await spoolMany(8, newError)
    },
    banner: /^Sentry unreachable since \d\d:\d\d \(.*503.*\)\. \d+\spending\./,
    title: 'Outage',
  },
  {
    name: 'Sentry takes requests and does not answer',
    async cause({ sentry, send, newError }) {
      sentry.answer('silent')
      await times(16, () => send(newError()))
    },
    banner: /^Sentry unreachable since \d\d:\d\d \(.+\)\. \d+\spending\./,
    title: 'Outage',
  },
  {
    name: 'Sentry limits errors',
    async cause({ sentry, sendMany, newError }) {
      sentry.answer('limiting')
      await sendMany(5, newError, 429)
    },
    banner: /dropped since \d\d:\d\d\..* Act if it lasts: raise the quota/,
    title: 'Degraded',
  },
  {
    name: 'Sentry declines everything',
    async cause({ sentry, sendMany, newError }) {
      const body = '{"detail":"event submission rejected with_reason: ProjectId"}'
      sentry.answer({ status: 403, headers: { 'content-type': 'application/json' }, body })
      await sendMany(8, newError, 403)
    },
    banner: /^\S+ has declined all envelopes of .* \(HTTP 403: .*\)\..* Act now: copy the DSN/,
    title: 'Degraded',
  },
  {
    name: 'the site has a DSN that Culvert does not know',
    cause: ({ sendMany, newError }) => sendMany(80, () => newError('http://key@sentry.example/9'), 403),
    banner:
      /^Culvert has rejected or limited .* The most frequent reason is dsn-unknown\..* Act now: the page Rejections shows/,
    title: 'Degraded',
  },
  {
    name: 'the spool is full',
    settings: { SPOOL_BYTES: `${SPOOL_BYTES}` },
    async cause({ sentry, send, dsn }) {
      await sentry.away()
      const statuses = new Set<number>()
      for (let n = 0; n < 20; n++)
        statuses.add((await send(attachmentOf(dsn, randomBytes(SPOOL_BYTES / 16)))).status)
      expect([...statuses]).toEqual([200, 503])
    },
    banner:
      /^The spool is full: new reports are being lost, .* a second\. \d+\senvelopes lost in the last 3 min\. .*Act now: raise SPOOL_BYTES in \.env, and start Culvert again with npm start\.$/,
    title: 'Outage',
  },
  {
    name: 'an operator has paused the delivery, and nothing arrives',
    async cause({ site }) {
      const [tunnel] = site.tunnels
      const response = await tunnel?.admin('/spool/pause', { method: 'POST' })
      expect(response?.status).toBe(200)
    },
    banner:
      /^Delivery from the spool has been paused since \d\d:\d\d for all projects\. 0\spending\. Act: resume it on the page Spool\.$/,
    title: 'Degraded',
  },
  {
    name: 'one error repeats',
    settings: { STORM_LIMIT: '20' },
    cause: ({ sendMany, dsn }) => sendMany(60, () => errorOf(dsn, { message: 'the same one' }), 200),
    banner: /^Storm: \d+ identical errors of .* since \d\d:\d\d\..* Act: fix the error/,
    title: 'Degraded',
  },
  {
    name: 'pages of another site report',
    cause: ({ site, newError }) =>
      times(80, () =>
        post(`http://127.0.0.1:${site.port}`, {
          headers: { origin: 'https://other.example' },
          body: newError(),
        }),
      ),
    banner:
      /^Culvert has rejected or limited .* The most frequent reason is origin-foreign\..* Act now: the page Rejections shows/,
    title: 'Degraded',
  },
]

describe('The first screen of the console', requires('chromium', 'nginx'), () => {
  it.for(SCENARIOS)('says what is wrong, and what to do, when $name', async (scenario, { chromium }) => {
    const { settings = {}, cause, banner, title } = scenario
    await using site = await startConsole(chromium, { settings })
    await cause(site)
    await using visitor = await site.operator()
    const { page } = visitor
    await page.getByRole('region', { name: 'Status' }).getByText(banner).waitFor()
    await expect.poll(() => page.title()).toBe(`${title} · Overview · Console · Culvert`)
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
