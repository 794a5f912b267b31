/** First screen of the console in several kinds of trouble: it names the cause and one action. */

import { describe, expect } from 'vitest'
import { SITE_HOST } from '../support/browser/chromium.ts'
import { type ConsoleSite, startConsole } from '../support/browser/console.ts'
import { it } from '../support/browser/fixtures.ts'
import { errorOf } from '../support/envelopes.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { PASSWORD, signIn } from '../support/web/operator.ts'

type Scenario = {
  name: string
  settings?: Record<string, string>
  cause(site: ConsoleSite): Promise<unknown>
  banner: RegExp
  title: 'Outage' | 'Degraded'
}

const times = <T>(many: number, run: () => Promise<T>) => Promise.all(Array.from({ length: many }, run))

const SCENARIOS: Scenario[] = [
  {
    name: 'Sentry answers 503',
    async cause({ sentry, spoolMany, newError }) {
      sentry.answer({ status: 503 })
      await spoolMany(8, newError)
    },
    banner: /^Sentry unreachable since \d\d:\d\d \(.*503.*\)\. \d+\spending, 0\slost\./,
    title: 'Outage',
  },
  {
    name: 'Sentry takes requests and does not answer',
    async cause({ sentry, send, newError }) {
      sentry.answer('silent')
      await times(16, () => send(newError()))
    },
    banner: /^Sentry unreachable since \d\d:\d\d \(.+\)\. \d+\spending, 0\slost\./,
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
