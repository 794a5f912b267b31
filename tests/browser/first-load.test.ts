/** Order of the scripts of a first visit. */

import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import type { Chromium } from '../support/browser/chromium.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { perFile } from '../support/lifetime.ts'
import { requires } from '../support/requirements.ts'
import { startWeb } from '../support/web/web.ts'

const EVERYTHING = {
  SENTRY_TRACES_SAMPLE_RATE: '1',
  SENTRY_REPLAYS_ON_ERROR_SAMPLE_RATE: '1',
  SENTRY_FEEDBACK: 'on',
}

const it = base.extend('siteOptions', perFile, {})

describe('The first load of the start page', requires('chromium', 'nginx'), () => {
  it('loads the same scripts before the load event, whichever SDK features are enabled', async ({
    site,
    chromium,
  }) => {
    await using full = await startWeb(EVERYTHING)
    const ofPlain = await scriptsOf(chromium, site.web.url, 0)
    const ofFull = await scriptsOf(chromium, full.url, 3) // traces, replays and feedback
    expect(ofPlain.before.length).toBeGreaterThan(3)
    expect(ofPlain.after).toEqual([])
    expect(ofFull.before).toEqual(ofPlain.before)
  })
})

type Scripts = { before: string[]; after: string[] }

/** Returns the paths of the scripts that a visit requests before and after the load event. Waits for at least `minLate` after it. */
async function scriptsOf(chromium: Chromium, url: string, minLate: number): Promise<Scripts> {
  await using visitor = await chromium.visitor()
  const { page } = visitor
  await page.route('**/monitoring?**', (route) => route.fulfill({ json: {} }))
  await page.goto(url, { waitUntil: 'networkidle' })
  let scripts = await readScripts(page)
  await expect
    .poll(async () => {
      scripts = await readScripts(page)
      return scripts.after.length
    })
    .toBeGreaterThanOrEqual(minLate)
  return scripts
}

async function readScripts(page: Page): Promise<Scripts> {
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
