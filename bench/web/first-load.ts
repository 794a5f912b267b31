/** Measures the first visit of the start page: bytes of JavaScript, load times and layout shift. */

import { pathToFileURL } from 'node:url'
import type { Request } from 'playwright-core'
import { type Chromium, startChromium } from '../../tests/support/browser/chromium.ts'
import { type Site, startSite } from '../../tests/support/site.ts'
import { spreadOf } from '../report/statistics.ts'

/** Returns the transferred bytes of JavaScript until the page is idle, and the files. */
async function scriptBytes(chromium: Chromium, url: string): Promise<{ bytes: number; files: string[] }> {
  await using visitor = await chromium.visitor()
  visitor.allowTrouble(/./)
  const scripts: Request[] = []
  visitor.page.on('requestfinished', (request) => {
    if (request.resourceType() === 'script') scripts.push(request)
  })
  await visitor.page.goto(url, { waitUntil: 'networkidle' })
  const sizes = await Promise.all(scripts.map((script) => script.sizes()))
  return {
    bytes: sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0),
    files: scripts.map((script) => script.url()),
  }
}

const VISITS = 5
const REQUESTS = 200

async function run(site: Site, chromium: Chromium): Promise<void> {
  const secure = `http://127.0.0.1:${site.port}/` // where Chromium takes brotli, as over https
  const brotli = await scriptBytes(chromium, secure)
  const gzip = await scriptBytes(chromium, `${site.url}/`)
  console.log(`JavaScript, brotli  ${kilobytes(brotli.bytes)} in ${brotli.files.length} files`)
  console.log(`JavaScript, gzip    ${kilobytes(gzip.bytes)}`)
  const visits = []
  for (let visit = 0; visit < VISITS; visit++) visits.push(await look(chromium, secure))
  console.log(
    `Largest Contentful Paint, median of ${VISITS}  ${Math.round(spreadOf(visits.map(({ lcp }) => lcp)).median)} ms`,
  )
  console.log(
    `Cumulative Layout Shift, worst of ${VISITS}    ${Math.max(...visits.map(({ cls }) => cls)).toFixed(4)}`,
  )
  const answers = []
  for (let request = 0; request < REQUESTS; request++) {
    const began = performance.now()
    await (await fetch(secure)).text()
    answers.push(performance.now() - began)
  }
  console.log(`The server’s answer, median of ${REQUESTS}  ${spreadOf(answers).median.toFixed(1)} ms`)
}

/** Measures one visit of a new visitor. */
async function look(chromium: Chromium, url: string): Promise<{ lcp: number; cls: number }> {
  await using visitor = await chromium.visitor()
  visitor.allowTrouble(/./)
  await visitor.page.goto(url)
  await visitor.page
    .getByRole('button', { name: 'Check again' })
    .and(visitor.page.locator('[aria-disabled=false]'))
    .waitFor()
  return await visitor.page.evaluate(async () => {
    const entries = (type: string) =>
      new Promise<PerformanceEntry[]>((resolve) => {
        new PerformanceObserver((list) => resolve(list.getEntries())).observe({ type, buffered: true })
        setTimeout(() => resolve([]), 500)
      })
    const lcp = (await entries('largest-contentful-paint')).at(-1)?.startTime ?? 0
    const shifts = (await entries('layout-shift')) as unknown as { value: number }[]
    return { lcp, cls: shifts.reduce((sum, { value }) => sum + value, 0) }
  })
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} KB`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await using site = await startSite()
  await using chromium = await startChromium()
  await run(site, chromium)
}
