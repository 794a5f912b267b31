/** Real Chromium, whose visitors fail the test on unexpected trouble. */

import { createHash, X509Certificate } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page, type Request } from 'playwright-core'
import { CHROMIUM_PROGRAM, HEADLESS_SHELL_PROGRAM, PERL_PROGRAM } from '../requirements.ts'

/** Name that resolves to this machine, and that Chromium does not treat as localhost. */
export const SITE_HOST = 'shop.example'

/** Starts a program for which the network of this machine never changes. */
const WITHOUT_NETLINK = join(import.meta.dirname, 'without-netlink.pl')

/** Of several `--disable-features` the last one counts. */
const DISABLED_FEATURES = [
  'PreloadTopChromeWebUI', // each visitor would get a second renderer, for a search box that no test opens
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  // Playwright's:
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
]

const FLAGS = [
  '--no-sandbox', // tests may run as root
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${DISABLED_FEATURES}`,
  '--auto-accept-this-tab-capture', // skips the question before a page takes a screenshot of itself
]

export type ChromiumOptions = {
  /** Addresses for the names of other sites, `{ 'o1.ingest.us.sentry.io': '127.0.0.1:41234' }`; certificates are not checked. */
  leads?: Record<string, string>
  /** Certificate in PEM that Chromium trusts: it sends reports only where the certificate has no error. It then sends them at once. */
  trusted?: string
  /** Lets pages take screenshots of themselves. */
  screenshots?: true
}

export type Visitor = {
  page: Page
  /** POST requests of the page, in order. */
  posts: Request[]
  /** Uncaught errors, console errors and failed requests so far, one line each. */
  troubles: string[]
  /** Trouble that this test causes on purpose; unexpected and missing trouble fails it. */
  expectTrouble(pattern: RegExp): void
  /** Trouble that may happen, or happen too late to be recorded. */
  allowTrouble(pattern: RegExp): void
  [Symbol.asyncDispose](): Promise<void>
}

/** Browser that a test does not end. */
export type Chromium = Pick<RunningChromium, 'visitor'>
type RunningChromium = Awaited<ReturnType<typeof startChromium>>

let shared: Promise<RunningChromium> | undefined

/** Returns the Chromium that all files of this worker share, unless they need options of their own. It ends with the worker. */
export async function shareChromium(): Promise<Chromium> {
  const running = await shared?.catch(() => undefined)
  if (running?.isRunning()) return running
  shared = startChromium()
  return shared
}

/** Starts Chromium; each visitor has cookies, cache and storage of their own. `await using` stops it. */
export async function startChromium({ leads = {}, trusted, screenshots }: ChromiumOptions = {}) {
  const program = trusted || screenshots ? CHROMIUM_PROGRAM : HEADLESS_SHELL_PROGRAM // the shell can do neither
  const browser = await chromium.launch({
    ...(program && { executablePath: PERL_PROGRAM ? WITHOUT_NETLINK : program }),
    env: { ...process.env, ...(program && { PROGRAM: program }) },
    args: [
      ...FLAGS,
      resolverRules({ [SITE_HOST]: '127.0.0.1', ...leads }),
      ...(Object.keys(leads).length > 0 ? ['--ignore-certificate-errors'] : []),
      ...(trusted ? [trustFlag(trusted), '--short-reporting-delay'] : []),
    ],
  })
  return {
    /** Creates a visitor with an empty page. */
    visitor: (options: BrowserContextOptions = {}) => enter(browser, options),
    isRunning: () => browser.isConnected(),
    close: () => browser.close(),
    [Symbol.asyncDispose]: () => browser.close(),
  }
}

function trustFlag(certificate: string): string {
  const key = new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' })
  return `--ignore-certificate-errors-spki-list=${createHash('sha256').update(key).digest('base64')}`
}

/** Keeps all requests of the page on this machine. */
function resolverRules(leads: Record<string, string>): string {
  const maps = Object.entries(leads).map(([host, address]) => `MAP ${host} ${address}`)
  return `--host-resolver-rules=${[...maps, 'MAP * ~NOTFOUND', 'EXCLUDE 127.0.0.1', 'EXCLUDE localhost'].join(', ')}`
}

/** Allows aborted requests for the icon: Chromium sends them when idle, and aborts them when the page is left. */
const ICON_LET_GO = /^failed: GET \S+\/favicon\.ico\S* net::ERR_ABORTED$/

const PATIENCE = 90_000 // the machine may be busy
const LATE_TROUBLE_MS = 10_000 // Chromium reports an error after the requests that it has led to

async function enter(browser: Browser, options: BrowserContextOptions): Promise<Visitor> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(PATIENCE)
  const page = await context.newPage()
  const posts: Request[] = []
  const troubles: string[] = []
  const news = new EventEmitter<{ trouble: [] }>()
  const expected: RegExp[] = []
  const allowed = [ICON_LET_GO]
  page.on('request', (request) => {
    if (request.method() === 'POST') posts.push(request)
  })
  watch(page, (trouble) => {
    troubles.push(trouble)
    news.emit('trouble')
  })
  return {
    page,
    posts,
    troubles,
    expectTrouble: (pattern) => void expected.push(pattern),
    allowTrouble: (pattern) => void allowed.push(pattern),
    async [Symbol.asyncDispose]() {
      await untilTrouble(news, () => missingOf(expected, troubles).length === 0)
      await context.close()
      judge(
        troubles.filter((trouble) => !allowed.some((pattern) => pattern.test(trouble))),
        expected,
      )
    },
  }
}

function watch(page: Page, onTrouble: (trouble: string) => void): void {
  page.on('pageerror', (error) => onTrouble(`uncaught ${error}`))
  page.on('console', (message) => {
    if (message.type() === 'error') onTrouble(`console: ${message.text()} (${message.location().url})`)
  })
  page.on('requestfailed', (request) => {
    onTrouble(`failed: ${request.method()} ${request.url()} ${request.failure()?.errorText}`)
  })
}

/** Resolves when `isDone`, which each trouble may change, or after 10 s. */
async function untilTrouble(news: EventEmitter<{ trouble: [] }>, isDone: () => boolean): Promise<void> {
  const signal = AbortSignal.timeout(LATE_TROUBLE_MS)
  while (!isDone() && !signal.aborted) await once(news, 'trouble', { signal }).catch(() => undefined)
}

function missingOf(expected: readonly RegExp[], troubles: readonly string[]): RegExp[] {
  return expected.filter((pattern) => !troubles.some((trouble) => pattern.test(trouble)))
}

function judge(troubles: string[], expected: RegExp[]): void {
  const surprising = troubles.filter((trouble) => !expected.some((pattern) => pattern.test(trouble)))
  if (surprising.length > 0) throw new Error(`The page had trouble:\n  ${surprising.join('\n  ')}`)
  const missing = missingOf(expected, troubles)
  if (missing.length > 0)
    throw new Error(`The page did not have the trouble it should have had: ${missing.join(', ')}`)
}
