/** Takes a screenshot of every page, or of those whose names are given: on a desktop and a phone, in light and dark, and those of `docs/images`. */

import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { breakPage } from '../../tests/support/browser/broken-page.ts'
import { type Chromium, SITE_HOST, startChromium } from '../../tests/support/browser/chromium.ts'
import { ROOT } from '../../tests/support/node.ts'
import { signIn } from '../../tests/support/web/operator.ts'
import { beginOutage, type DemoSites, fillSites, startDemoSites } from './data.ts'

const FOLDER = join(ROOT, '.culvert/screenshots')
const IMAGES = join(ROOT, 'docs/images')

const DEVICES: Record<string, BrowserContextOptions> = {
  desktop: { viewport: { width: 1280, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
}
const THEMES = ['light', 'dark'] as const
const USAGE = `npm run screenshots -- [NAME …]
Takes a screenshot of every page, or of those named, on a desktop and a phone, in light and dark. It takes some minutes: two sites start first.
.culvert/screenshots gets those of the pages, docs/images those of the documentation.`
const names = process.argv.slice(2)
const isWanted = ({ name }: Shot) => names.length === 0 || names.includes(name)

/** Page, and what to do before its picture is taken. */
type Shot = { name: string; path: string; prepare?: (page: Page) => Promise<unknown>; inInbox?: true }

const openFirst = (selector: string) => async (page: Page) => {
  const href = await page.locator(selector).first().getAttribute('href')
  await page.goto(new URL(href ?? '', page.url()).href)
}

/** Opens the newest event of an error. */
const openEvent = openFirst('main a:has-text("TypeError")')

const PUBLIC: readonly Shot[] = [
  {
    name: 'connection-check',
    path: '/',
    prepare: (page) =>
      page
        .getByText(/^Reports/)
        .first()
        .waitFor(),
  },
  { name: 'error-lab', path: '/lab' },
  { name: 'error-lab-inbox-mode', path: '/lab', inInbox: true },
  { name: 'not-found', path: '/missing' },
  { name: 'server-error', path: '/?break', prepare: (page) => page.getByText('Digest').waitFor() },
  { name: 'client-error', path: '/', prepare: breakPage },
  { name: 'sign-in', path: '/console/sign-in' },
]

const CONSOLE: readonly Shot[] = [
  { name: 'overview', path: '/console' },
  { name: 'overview-7d', path: '/console?range=7d' },
  { name: 'live-feed', path: '/console/live-feed' },
  {
    name: 'receipt',
    path: '/console/live-feed',
    prepare: (page) => page.locator('button[data-receipt]').first().click(),
  },
  { name: 'rejections', path: '/console/rejections' },
  { name: 'policies', path: '/console/policies' },
  { name: 'projects', path: '/console/projects' },
  { name: 'inbox', path: '/console/inbox' },
  { name: 'event', path: '/console/inbox?search=price', prepare: openEvent },
  {
    name: 'replay',
    path: '/console/inbox?type=replay_event',
    prepare: openFirst('main [data-rows] a'),
    inInbox: true,
  },
  { name: 'replicas', path: '/console/replicas' },
  {
    name: 'shortcuts',
    path: '/console/replicas',
    prepare: (page) => page.getByRole('button', { name: 'Keyboard shortcuts' }).click(),
  },
  { name: 'inbox-without-match', path: '/console/inbox?search=nothing-has-this' },
  { name: 'inbox-entry-missing', path: '/console/inbox/missing' },
  { name: 'setup', path: '/console/setup' },
  { name: 'overview-inbox-mode', path: '/console', inInbox: true },
  { name: 'spool-inbox-mode', path: '/console/spool', inInbox: true },
]

const OUTAGE: readonly Shot[] = [
  { name: 'lab-outage', path: '/lab', inInbox: true },
  { name: 'simulated-outage', path: '/console', inInbox: true },
  { name: 'simulated-outage-spool', path: '/console/spool', inInbox: true },
  { name: 'outage-overview', path: '/console' },
  { name: 'spool', path: '/console/spool' },
  { name: 'spool-entry', path: '/console/spool', prepare: openFirst('main a[href^="/console/spool/"]') },
]

/** Pictures of the documentation, with their height in CSS pixels at a width of 1280. */
const DOCS: readonly (Shot & { height: number })[] = [
  { name: 'console-overview', path: '/console', height: 1120 },
  {
    name: 'console-event',
    path: '/console/inbox?search=price',
    prepare: openEvent,
    height: 1000,
  },
]
const DOCS_SCALE = 1.5
const QUALITY = 60

async function takeAll(chromium: Chromium, sites: DemoSites, shots: readonly Shot[]): Promise<void> {
  for (const [device, options] of Object.entries(DEVICES))
    for (const shot of shots.filter(isWanted))
      await take(chromium, sites, shot, device, options).catch((error: unknown) => {
        console.error(`${shot.name}, ${device}: ${error}`)
        process.exitCode = 1
      })
}

async function take(
  chromium: Chromium,
  sites: DemoSites,
  shot: Shot,
  device: string,
  options: BrowserContextOptions,
): Promise<void> {
  await using visitor = await visit(chromium, sites, shot, options)
  for (const colorScheme of THEMES) {
    await visitor.page.emulateMedia({ colorScheme })
    const path = join(FOLDER, `${device}-${colorScheme}`, `${shot.name}.png`)
    await visitor.page.screenshot({ path, fullPage: true })
  }
}

/** Writes WebP, which Playwright does not. */
async function takeForDocs(chromium: Chromium, sites: DemoSites): Promise<void> {
  for (const { height, ...shot } of DOCS.filter(isWanted)) {
    const options = { viewport: { width: 1280, height }, deviceScaleFactor: DOCS_SCALE }
    await using visitor = await visit(chromium, sites, shot, options)
    const session = await visitor.page.context().newCDPSession(visitor.page)
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
    await writeFile(join(IMAGES, `${shot.name}.webp`), Buffer.from(data, 'base64'))
  }
}

/** Opens a page as an operator who is signed in, except for the sign-in. */
async function visit(chromium: Chromium, sites: DemoSites, shot: Shot, options: BrowserContextOptions) {
  const site = shot.inInbox ? sites.inbox : sites.site
  const visitor = await chromium.visitor({ ...options, reducedMotion: 'reduce' })
  visitor.allowTrouble(/./)
  const { page } = visitor
  if (shot.path.startsWith('/console') && shot.name !== 'sign-in') {
    const { cookie = '' } = await signIn(`http://127.0.0.1:${site.port}`)
    const [name = '', value = ''] = cookie.split('=')
    await page.context().addCookies([{ name, value, domain: SITE_HOST, path: '/console' }])
  }
  await page.goto(site.url + shot.path)
  await shot.prepare?.(page)
  await page.waitForLoadState('load')
  await page.waitForTimeout(SETTLED_MS)
  return visitor
}

const SETTLED_MS = 1_500 // charts and live parts are drawn after the page has loaded

const all = [...PUBLIC, ...CONSOLE, ...OUTAGE, ...DOCS].map(({ name }) => name)
const unknown = names.find((name) => !all.includes(name))
if (names.some((name) => /^(--help|-h)$/.test(name))) console.log(`${USAGE}\nNames: ${all.join(', ')}`)
else if (unknown !== undefined) {
  process.exitCode = 1
  console.error(`"${unknown}" is no page.\n${USAGE}\nNames: ${all.join(', ')}`)
} else await run()

async function run(): Promise<void> {
  console.log('Starting two sites …')
  await using sites = await startDemoSites()
  await using chromium = await startChromium()
  console.log('Sending envelopes for 80 s …')
  await fillSites(sites)
  if (names.length === 0) await rm(FOLDER, { recursive: true, force: true })
  await takeForDocs(chromium, sites)
  await takeAll(chromium, sites, [...PUBLIC, ...CONSOLE])
  await beginOutage(sites)
  await takeAll(chromium, sites, OUTAGE)
  console.log(`Screenshots are in ${FOLDER}, those of the documentation in ${IMAGES}.`)
}
