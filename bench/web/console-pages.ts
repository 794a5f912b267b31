/** Measures the pages of the console with an empty cache: bytes of JavaScript with brotli, and Largest Contentful Paint. */

import type { Page, Request } from 'playwright-core'
import { type Chromium, startChromium } from '../../tests/support/browser/chromium.ts'
import { type ConsoleSite, startConsole } from '../../tests/support/browser/console.ts'
import { spreadOf } from '../report/statistics.ts'
import { renderTable } from '../report/table.ts'
import { visitConsole } from './operator-page.ts'

const PAGES = [
  ...['', '/live-feed', '/rejections', '/inbox', '/spool', '/find', '/projects', '/policies', '/replicas'],
  ...['/setup', '/docs/console'],
]
const VISITS = 5
const ERRORS = 30
const SETTLED_MS = 3_000 // the browser's SDK loads when the page is idle

/** Bytes of the scripts that the page names, and of those that they load: the browser's SDK. */
type Visit = { lcp: number; page: number; late: number }

async function measure(chromium: Chromium, site: ConsoleSite, path: string): Promise<Visit> {
  await using visitor = await visitConsole(chromium, site)
  const scripts: Request[] = []
  visitor.page.on('requestfinished', (request) => {
    if (request.resourceType() === 'script') scripts.push(request)
  })
  const html = (await (await visitor.open(path))?.text()) ?? ''
  const lcp = await lcpOf(visitor.page)
  const sizes = { page: 0, late: 0 }
  for (const script of scripts) {
    const isOfPage = html.includes(`src="${new URL(script.url()).pathname}`)
    sizes[isOfPage ? 'page' : 'late'] += (await script.sizes()).responseBodySize
  }
  return { lcp, ...sizes }
}

async function lcpOf(page: Page): Promise<number> {
  await page.waitForTimeout(SETTLED_MS)
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        new PerformanceObserver((list) => resolve(list.getEntries().at(-1)?.startTime ?? 0)).observe({
          ...{ type: 'largest-contentful-paint', buffered: true },
        })
      }),
  )
}

async function findIssue(chromium: Chromium, site: ConsoleSite): Promise<string> {
  await using visitor = await visitConsole(chromium, site)
  await visitor.open('/inbox')
  const href = await visitor.page.locator('main [data-rows] a').first().getAttribute('href')
  return (href ?? '').replace('/console', '')
}

async function run(): Promise<void> {
  await using chromium = await startChromium()
  await using site = await startConsole(chromium)
  for (let n = 0; n < ERRORS; n++) await site.send(site.newError())
  const rows: string[][] = []
  for (const path of [...PAGES, await findIssue(chromium, site)]) {
    const visits: Visit[] = []
    for (let n = 0; n < VISITS; n++) visits.push(await measure(chromium, site, path))
    const median = (name: keyof Visit) => spreadOf(visits.map((each) => each[name])).median
    const kilobytes = (name: keyof Visit) => `${(median(name) / 1000).toFixed(1)} KB`
    const page = path.startsWith('/inbox/') ? 'an issue' : path || 'overview'
    rows.push([page, `${Math.round(median('lcp'))} ms`, kilobytes('page'), kilobytes('late')])
    console.log(rows.at(-1)?.join('  '))
  }
  console.log(renderTable([['page', 'LCP, median', 'scripts', 'SDK, loaded by them'], ...rows]))
}

await run()
