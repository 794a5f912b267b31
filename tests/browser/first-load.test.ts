/** Bytes and order of the scripts of a first visit. */

import { describe, expect } from 'vitest'
import type { Chromium } from '../support/browser/chromium.ts'
import { it } from '../support/browser/fixtures.ts'
import { requires } from '../support/requirements.ts'
import { PASSWORD, signIn } from '../support/web/operator.ts'
import { startWeb } from '../support/web/web.ts'

/** Most bytes of compressed JavaScript until the load event. */
const BUDGETS: [path: string, bytes: number][] = [
  ['/', 150_000],
  ['/console/sign-in', 0],
  ['/console', 165_000],
  ['/console/live-feed', 170_000],
  ['/console/rejections', 150_000],
  ['/console/projects', 150_000],
  ['/console/spool', 150_000],
  ['/console/inbox', 150_000],
  ['/console/replicas', 152_000],
  ['/console/setup', 157_000],
]

const EVERYTHING = {
  SENTRY_TRACES_SAMPLE_RATE: '1',
  SENTRY_REPLAYS_SESSION_SAMPLE_RATE: '1',
  SENTRY_FEEDBACK: 'on',
  SENTRY_LOGS: 'on',
}

it.override('siteOptions', { env: { OPERATOR_PASSWORD: PASSWORD } })

describe('The first load', requires('chromium', 'nginx'), () => {
  it.for(BUDGETS)('of %s is at most %i bytes of JavaScript', async ([path, most], { site, chromium }) => {
    const url = `http://127.0.0.1:${site.port}` // where Chromium takes brotli, as over https
    const { cookie = '' } = await signIn(url)
    const { status, bytes } = await visit(chromium, url + path, path === '/console/sign-in' ? '' : cookie)
    expect(status).toBe(200)
    expect(bytes).toBeLessThanOrEqual(most)
    expect(bytes).toBeGreaterThanOrEqual(most / 2)
  })

  it('loads the same scripts before the load event, whichever SDK features are enabled', async ({
    site,
    chromium,
  }) => {
    await using full = await startWeb(EVERYTHING)
    const ofPlain = await scriptsOf(chromium, site.web.url)
    const ofFull = await scriptsOf(chromium, full.url)
    expect(ofPlain.before.length).toBeGreaterThan(3)
    expect(ofPlain.after).toEqual([])
    expect(ofFull.before).toEqual(ofPlain.before)
    expect(ofFull.after.length).toBeGreaterThanOrEqual(4) // traces, replays, the console and feedback
  })
})

/** Returns the status of a page, and the bytes of the scripts that it has loaded until its load event. */
async function visit(chromium: Chromium, url: string, cookie: string) {
  await using visitor = await chromium.visitor()
  visitor.allowTrouble(/ERR_ABORTED/) // leaving a page aborts its live feed
  const { page } = visitor
  const [name = '', value] = cookie.split('=')
  if (value !== undefined) await page.context().addCookies([{ name, value, url }])
  const response = await page.goto(url, { waitUntil: 'load' })
  const bytes = await page.evaluate(() => {
    const resources = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
    return resources
      .filter(({ name }) => /\.js$/.test(name))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)
  })
  return { status: response?.status(), bytes }
}

/** Returns the paths of the scripts that a visit requests before and after the load event. */
async function scriptsOf(chromium: Chromium, url: string): Promise<{ before: string[]; after: string[] }> {
  await using visitor = await chromium.visitor()
  const { page } = visitor
  await page.route('**/monitoring?**', (route) => route.fulfill({ json: {} }))
  await page.goto(url, { waitUntil: 'networkidle' })
  const asked = await page.evaluate(() => {
    const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
    const resources = performance.getEntriesByType('resource').filter(({ name }) => /\.js$/.test(name))
    return resources.map(({ name, startTime }) => ({
      path: new URL(name).pathname,
      isLate: startTime >= (navigation?.loadEventStart ?? 0),
    }))
  })
  const paths = (isLate: boolean) => asked.filter((each) => each.isLate === isLate).map(({ path }) => path)
  return { before: paths(false).sort(), after: paths(true) }
}
