/** Pages with the script element of sdk.js in Chromium. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findingsOn } from '../support/browser/axe.ts'
import { type Chromium, shareChromium, type Visitor } from '../support/browser/chromium.ts'
import { type SdkSite, startSdkSite } from '../support/browser/sdk-site.ts'
import { ROOT } from '../support/node.ts'
import { requires } from '../support/requirements.ts'
import { hasItem, type Received } from '../support/sentry/received-request.ts'

const INSTALL = readFileSync(join(ROOT, 'docs/install.md'), 'utf8')
const [, TAG = ''] = /```html\n(.+)\n```/.exec(INSTALL) ?? []
const [STUB = ''] = /<script>\n {2}\{\n[\s\S]+?<\/script>/.exec(INSTALL) ?? []
const OTHER_PROJECT = '457'
const BUNDLE = /\/monitoring\/sdk\/errors-\w{16}\.js$/
const IMAGES = "img-src 'self'; connect-src 'self'; base-uri 'none'; default-src 'none'"

/** Returns the script element with these attributes. */
const tag = (attributes: string) => TAG.replace(' crossorigin', ` crossorigin ${attributes}`)
const script = (code: string) => `<script>${code}</script>`

describe('A page with sdk.js', requires('chromium', 'nginx'), () => {
  const started = new AsyncDisposableStack()
  let site: SdkSite
  let chromium: Chromium
  let visitor: Visitor
  let visit: AsyncDisposableStack

  beforeAll(async () => {
    site = started.use(await startSdkSite({ SENTRY_RELEASE: 'shop@1', SENTRY_ENVIRONMENT: 'test' }))
    chromium = await shareChromium()
  })
  afterAll(() => started.disposeAsync())

  beforeEach(async () => {
    visit = new AsyncDisposableStack()
    visitor = visit.use(await chromium.visitor())
    return () => visit.disposeAsync()
  })

  /** Returns the warnings in the console, which grow. */
  function warnings(): string[] {
    const found: string[] = []
    visitor.page.on('console', (message) => {
      if (message.type() === 'warning' && message.text().startsWith('Culvert')) found.push(message.text())
    })
    return found
  }

  it('reports a rejection and calls to Sentry from before the SDK is there, in their order', async () => {
    visitor.expectTrouble(/uncaught Error: rejected early/)
    await site.open(
      visitor.page,
      `${TAG}${script(`
        Sentry.setTag('step', 'first')
        Promise.reject(new Error('rejected early'))
        addEventListener('unhandledrejection', () => {
          Sentry.setTag('step', 'second')
          Sentry.captureMessage('queued message')
        })`)}`,
    )
    expect(await site.event('rejected early')).toMatchObject({ tags: { step: 'first' } })
    expect(await site.event('queued message')).toMatchObject({ tags: { step: 'second' } })
  })

  it('sends logs and metrics from before the SDK is there, also through functions that the page has kept', async () => {
    const { page } = visitor
    await site.open(
      page,
      `${TAG}${script(`
        const { logger, metrics } = Sentry
        logger.info(logger.fmt\`queued log of ${'$'}{1}\`)
        metrics.count('queued', 2)
        window.later = () => { logger.warn('later log'); metrics.gauge('later', 3); return Sentry.flush() }`)}`,
    )
    await page.waitForFunction('Sentry.getClient')
    await page.evaluate('later()')
    const logs = (await site.sentry.next(hasItem('log'))).items.find(({ header }) => header.type === 'log')
    expect(JSON.parse(String(logs?.payload)).items).toMatchObject([
      { level: 'info', body: 'queued log of 1' },
      { level: 'warn', body: 'later log' },
    ])
    const metrics = (await site.sentry.next(hasItem('trace_metric'))).items.find(
      ({ header }) => header.type === 'trace_metric',
    )
    expect(JSON.parse(String(metrics?.payload)).items).toMatchObject([
      { name: 'queued', type: 'counter', value: 2 },
      { name: 'later', type: 'gauge', value: 3 },
    ])
  })

  it('calls sentryOnLoad and onLoad before init, whose options extend those of the operator', async () => {
    await site.open(
      visitor.page,
      `${script("window.sentryOnLoad = () => { window.steps = ['sentryOnLoad'] }")}${TAG}${script(`
        Sentry.onLoad(() => {
          steps.push('onLoad')
          Sentry.init({ release: 'of the page', initialScope: { tags: { steps: steps.join() } } })
        })
        Sentry.captureMessage('with options')`)}`,
    )
    expect(await site.event('with options')).toMatchObject({
      release: 'of the page',
      environment: 'test',
      tags: { steps: 'sentryOnLoad,onLoad' },
    })
  })

  it('keeps the running SDK when the page loads sdk.js again, and calls sentryOnLoad once', async () => {
    const { page } = visitor
    const found = warnings()
    await site.open(
      page,
      `${script('window.calls = 0; window.sentryOnLoad = () => { calls++; Sentry.init() }')}${TAG}`,
    )
    await page.waitForFunction('Sentry.getClient')
    await page.addScriptTag({ url: `${site.url}/monitoring/sdk.js` })
    await page.evaluate("Sentry.captureMessage('after the second script')")
    await site.event('after the second script')
    expect(found).toEqual(['Culvert: this page has sdk.js more than once'])
    expect(await page.evaluate('[calls, typeof sentryOnLoad]')).toEqual([1, 'undefined'])
  })

  it('keeps the options of a page that asks for tracing without the bundle for it', async () => {
    const found = warnings()
    await site.open(
      visitor.page,
      `${script(`window.sentryOnLoad = () => Sentry.init({
        beforeSend: (event) => ({ ...event, message: 'scrubbed' }),
        integrations: [Sentry.browserTracingIntegration()],
      })`)}${TAG}${script("Sentry.onLoad(() => Sentry.startSpan({ name: 'span' }, () => Sentry.captureMessage('in a span')))")}`,
    )
    await site.event('scrubbed')
    await expect
      .poll(() => found)
      .toEqual([expect.stringMatching(/has no tracing\. Set data-traces-sample-rate/)])
  })

  it('reports nothing when sentryOnLoad throws before init, and says so', async () => {
    const { page } = visitor
    visitor.expectTrouble(/TypeError: Sentry\.missing is not a function/)
    visitor.expectTrouble(/Culvert: nothing is reported/)
    const warning = page.waitForEvent('console', (message) => message.text().startsWith('Culvert'))
    await site.open(
      page,
      `${script('window.sentryOnLoad = () => Sentry.init({ integrations: [Sentry.missing()] })')}${TAG}`,
    )
    await warning
    expect(await page.evaluate('Sentry.isInitialized()')).toBe(false)
  })

  it('loads no SDK with data-lazy until forceLoad', async () => {
    const { page } = visitor
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await site.open(page, `${tag('data-lazy="yes"')}${script('Sentry.onLoad(() => { loaded = true })')}`)
    expect(requests.filter((url) => BUNDLE.test(url))).toEqual([])
    await page.evaluate('Sentry.forceLoad()')
    await page.waitForFunction('window.loaded && Sentry.getClient()')
    expect(requests.filter((url) => BUNDLE.test(url))).toHaveLength(1)
  })

  it.each([
    ["script-src 'self'", "script-src 'self'", TAG],
    [
      'a nonce and strict-dynamic',
      "script-src 'nonce-of-the-page' 'strict-dynamic'",
      tag('nonce="of-the-page"'),
    ],
  ])('works under a Content-Security-Policy with %s', async (_, policy, element) => {
    const message = `under ${policy}`
    await site.open(visitor.page, element, `${policy}; ${IMAGES}`)
    await visitor.page.waitForFunction(() => 'getClient' in (window as unknown as { Sentry: object }).Sentry)
    await visitor.page.evaluate((text) => {
      ;(window as unknown as { Sentry: { captureMessage(text: string): void } }).Sentry.captureMessage(text)
    }, message)
    await site.event(message)
    expect(await visitor.page.locator('script[integrity^="sha384-"]').count()).toBe(1)
  })

  /** Resolves with the feedback of this message. */
  async function feedbackOf(message: string): Promise<object> {
    const contextOf = ({ items }: Parameters<ReturnType<typeof hasItem>>[0]) => {
      const item = items.find(({ header }) => header.type === 'feedback')
      return item && JSON.parse(String(item.payload)).contexts.feedback
    }
    return contextOf(await site.sentry.next((received) => contextOf(received)?.message === message))
  }

  it('overrides settings by data attributes, and names unknown ones once', async () => {
    const found = warnings()
    const attributes = 'data-release="of the tag" data-environment="tagged" data-sample-rat="1"'
    const calls = "Sentry.init(); Sentry.init(); Sentry.captureMessage('with attributes')"
    await site.open(visitor.page, `${tag(attributes)}${script(calls)}`)
    expect(await site.event('with attributes')).toMatchObject({
      release: 'of the tag',
      environment: 'tagged',
    })
    await expect
      .poll(() => found)
      .toEqual(['Culvert: data-sample-rat="1" of the script element has no effect'])
  })

  it('traces the page with data-traces-sample-rate', async () => {
    visitor.allowTrouble(/ERR_ABORTED/) // of the post when the page is left
    await site.open(visitor.page, tag('data-traces-sample-rate="1"'))
    await visitor.page.waitForFunction('window.Sentry.getClient')
    const isTrace = ({ items }: Parameters<ReturnType<typeof hasItem>>[0]) =>
      items.some(({ header }) => header.type === 'transaction' || header.type === 'span')
    await visitor.page.goto('about:blank')
    await site.sentry.next(isTrace)
  })

  it('loads the replay bundle after the page, and records', async () => {
    const { page } = visitor
    const loaded = page.waitForRequest(/\/sdk\/replay-\w{16}\.js$/)
    await site.open(page, tag('data-replays-session-sample-rate="1"'))
    expect(await (await loaded).response()).toMatchObject({})
    await site.sentry.next(hasItem('replay_event'))
  })

  it('shows a feedback button that the page asks for', async () => {
    await site.open(
      visitor.page,
      `${TAG}${script('Sentry.onLoad(() => Sentry.init({ integrations: [Sentry.feedbackIntegration()] }))')}`,
    )
    await visitor.page.getByRole('button', { name: 'Report a Bug' }).waitFor()
  })

  it('opens a report dialog from the own origin, whose feedback names the last event', async () => {
    const { page } = visitor
    const origins = new Set<string>()
    page.on('request', (request) => origins.add(new URL(request.url()).origin))
    const policy = `script-src 'nonce-of-the-page' 'strict-dynamic'; style-src 'nonce-of-the-page'; ${IMAGES}`
    await site.open(page, tag('nonce="of-the-page"'), policy)
    await page.waitForFunction('Sentry.getClient')
    await page.evaluate("Sentry.captureMessage('with a dialog')")
    const event = await site.event('with a dialog')
    await page.evaluate("Sentry.showReportDialog({ title: 'It broke', user: { name: 'Ada' } })")
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('heading', { name: 'It broke' }).waitFor()
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Ada')
    await dialog.getByLabel('What happened?').fill('I clicked.')
    await dialog.getByRole('button', { name: 'Send report' }).click()
    const { items } = await site.sentry.next(hasItem('feedback'))
    const feedback = items.find(({ header }) => header.type === 'feedback')
    expect(JSON.parse(String(feedback?.payload)).contexts.feedback).toMatchObject({
      message: 'I clicked.',
      name: 'Ada',
      associated_event_id: event.event_id,
    })
    expect([...origins]).toEqual([site.url])
  })

  it('thanks an offline visitor for a report, and sends it once when the visitor is online again', async () => {
    const { page } = visitor
    visitor.allowTrouble(/ERR_INTERNET_DISCONNECTED/)
    await site.open(page, TAG)
    await openDialog(page, { lang: 'en' })
    await site.event('before the dialog')
    await page.context().setOffline(true)
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('What happened?').fill('I was offline.')
    await dialog.getByRole('button', { name: 'Send report' }).click()
    await page.getByText('Your report has been sent. Thank you!').waitFor()
    await page.context().setOffline(false)
    const isReport = ({ items }: Received) => items.some(({ payload }) => payload.includes('I was offline.'))
    await site.sentry.next(isReport)
    await page.evaluate("Sentry.captureMessage('after the report')")
    await site.event('after the report')
    expect(site.sentry.requests.filter(isReport)).toHaveLength(1)
  })

  it('names the event in the feedback of the dialog only', async () => {
    const { page } = visitor
    await site.open(page, TAG)
    await openDialog(page, {})
    await page.evaluate("Sentry.captureFeedback({ message: 'of a button' })")
    expect(await feedbackOf('of a button')).not.toHaveProperty('associated_event_id')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('What happened?').fill('of the dialog')
    await dialog.getByRole('button', { name: 'Send report' }).click()
    const associated_event_id = await page.evaluate('window.eventId')
    expect(await feedbackOf('of the dialog')).toMatchObject({ associated_event_id })
    await page.evaluate("Sentry.captureFeedback({ message: 'of a button, later' })")
    expect(await feedbackOf('of a button, later')).not.toHaveProperty('associated_event_id')
  })

  it('opens one report dialog at a time, and says so', async () => {
    const { page } = visitor
    const found = warnings()
    await site.open(page, TAG)
    await openDialog(page, {})
    await expect(openDialog(page, {})).rejects.toThrow('another one is open')
    expect(found).toEqual(['Culvert: there is no report dialog, because another one is open'])
    expect(await page.getByRole('dialog').count()).toBe(1)
  })

  it.each([
    ['light', 'light', '', 'rgb(255, 255, 255)'],
    ['dark', 'dark', '', 'rgb(41, 35, 47)'],
    [
      'of the feedback button',
      'light',
      "{ colorScheme: 'dark', themeDark: { background: '#123456' } }",
      'rgb(18, 52, 86)',
    ],
  ] as const)(
    'shows an accessible report dialog with colours that are %s',
    async (_, colorScheme, theme, colour) => {
      const { page } = visitor
      await page.emulateMedia({ colorScheme })
      const init =
        theme && `Sentry.onLoad(() => Sentry.init({ integrations: [Sentry.feedbackIntegration(${theme})] }))`
      const html = `<html lang="en"><title>Shop</title>${TAG}${script(init)}<main><h1>Shop</h1></main>`
      await site.open(page, html)
      await openDialog(page, {})
      const content = page.getByRole('dialog').locator('.dialog__content')
      expect(await content.evaluate((element) => getComputedStyle(element).backgroundColor)).toBe(colour)
      if (!theme) expect(await findingsOn(page)).toEqual([])
    },
  )

  it.each([
    ['the option', '<html lang="de">', { lang: 'ja' }, 'ja', '何が起きましたか？'],
    ['the page', '<html lang="de-AT">', {}, 'de', 'Was ist passiert?'],
    ['the browser', '<html>', {}, 'fr', 'Que s’est-il passé ?'],
  ])('shows the report dialog in the language of %s', async (_, html, options, language, label) => {
    const { page } = visit.use(await chromium.visitor({ locale: 'fr-CA' }))
    await site.open(page, `${html}${TAG}`)
    await openDialog(page, options)
    await page.getByRole('dialog').getByLabel(label).waitFor()
    expect(await page.locator('#culvert-report-dialog').getAttribute('lang')).toBe(language)
  })

  it('shows an accessible report dialog from right to left, with the texts of the page, until Escape', async () => {
    const { page } = visitor
    await site.open(
      page,
      `<html lang="ar"><title>متجر</title>${TAG}<main><h1>متجر</h1><button>شراء</button></main>`,
    )
    await page.getByRole('button').focus()
    await openDialog(page, { subtitle: 'نص الصفحة.', subtitle2: 'شكرًا.' })
    const dialog = page.getByRole('dialog', { name: 'يبدو أننا نواجه مشكلة.' })
    await dialog.getByText('نص الصفحة. شكرًا.').waitFor()
    expect(await page.locator('#culvert-report-dialog').getAttribute('dir')).toBe('rtl')
    expect(await findingsOn(page)).toEqual([])
    const message = dialog.getByLabel('ماذا حدث؟')
    await page.keyboard.type(' ')
    expect(await message.evaluate((field: HTMLTextAreaElement) => field.validationMessage)).toBe(
      'يُرجى إخبارنا بما حدث.',
    )
    await page.keyboard.press('Escape')
    await page.waitForFunction('window.isClosed')
    expect(await page.locator('#culvert-report-dialog').count()).toBe(0)
    expect(await page.locator('button:focus').count()).toBe(1)
  })

  it('keeps the envelopes of two projects apart', async () => {
    const { page } = visitor
    visitor.expectTrouble(/503/)
    visitor.allowTrouble(/ERR_ABORTED/) // of a post that is under way when the page is left
    const ofOther = (html: string) => html.replace('sdk.js', `sdk.js?p=${OTHER_PROJECT}`)
    await page.route(/\/monitoring\?/, (route) => route.fulfill({ status: 503 }))
    await site.open(page, TAG)
    await page.waitForFunction('Sentry.getClient')
    const rejected = page.waitForResponse((response) => response.status() === 503)
    await page.evaluate("Sentry.captureMessage('kept for the next visit')")
    await rejected
    await expect.poll(() => countStored(page, site.query)).toBe(1)
    await page.goto('about:blank') // this page would send it again
    await page.unroute(/\/monitoring\?/)
    await site.open(page, `${ofOther(TAG)}${script("Sentry.captureMessage('of the other project')")}`)
    await site.event('of the other project')
    expect(await countStored(page, site.query)).toBe(1)
    await site.open(page, TAG)
    await site.event('kept for the next visit')
  })

  it.each([
    [
      'is blocked',
      () => {
        Object.defineProperty(window, 'indexedDB', {
          get() {
            throw new DOMException('blocked', 'SecurityError')
          },
        })
      },
    ],
    [
      'cannot be opened',
      () => {
        const { open } = IDBFactory.prototype
        IDBFactory.prototype.open = function (name) {
          const request = open.call(this, name)
          queueMicrotask(() => request.addEventListener('upgradeneeded', () => request.transaction?.abort()))
          return request
        }
      },
    ],
  ])('sends replays when IndexedDB %s', async (_, block) => {
    await visitor.page.addInitScript(block)
    await site.open(visitor.page, tag('data-replays-session-sample-rate="1"'))
    await site.sentry.next(hasItem('replay_event'))
  })

  it('reports without storage, and the page keeps working', async () => {
    await visitor.page.addInitScript(() => {
      for (const name of ['indexedDB', 'localStorage', 'sessionStorage'])
        Object.defineProperty(window, name, {
          get() {
            throw new DOMException('blocked', 'SecurityError')
          },
        })
    })
    await site.open(visitor.page, `${TAG}${script("Sentry.captureMessage('without storage')")}`)
    await site.event('without storage')
  })

  it('says that a policy without its name blocks it', async () => {
    const { page } = visitor
    visitor.expectTrouble(/violates the following Content Security/)
    visitor.expectTrouble(/requires 'TrustedScriptURL' assignment/)
    const found = warnings()
    const policy = "script-src 'self'; require-trusted-types-for 'script'; trusted-types other"
    await site.open(page, TAG, policy)
    await expect.poll(() => found).toEqual([expect.stringMatching(/a policy of the page blocks it$/)])
  })

  it('says in one line that the SDK could not be loaded, and the page keeps working', async () => {
    const { page } = visitor
    visitor.allowTrouble(/ERR_FAILED/)
    const found = warnings()
    await page.route(/\/monitoring\/sdk\//, (route) => route.abort())
    await site.open(page, `${TAG}${script("Sentry.captureMessage('never sent')")}`)
    await expect
      .poll(() => found)
      .toEqual([
        expect.stringMatching(/^Culvert: http:\S+\/monitoring\/sdk\/errors-\w{16}\.js could not be loaded$/),
      ])
    await page.evaluate("Sentry.captureMessage('never sent, too')")
  })

  it('runs the code of a page with the stub of the docs when sdk.js is blocked, and reports when it is not', async () => {
    const { page } = visitor
    visitor.expectTrouble(/ERR_FAILED/)
    const calls = `Sentry.setTag('step', 'stub'); Sentry.metrics.count('orders'); Sentry.getCurrentScope().setTag('key', 1)
      done = Sentry.startSpan({ name: 'step' }, () => true); Sentry.captureMessage('with the stub')`
    await page.route(/\/sdk\.js$/, (route) => route.abort())
    await site.open(page, `${STUB}${TAG}${script(calls)}`)
    expect(await page.evaluate('done')).toBe(true)
    await page.unroute(/\/sdk\.js$/)
    await site.open(page, `${STUB}${TAG}${script(calls)}`)
    expect(await site.event('with the stub')).toMatchObject({ tags: { step: 'stub' } })
    expect(await page.evaluate('[Sentry.missing, typeof Sentry.getClient().on]')).toEqual([
      undefined,
      'function',
    ])
  })

  it('marks errors of visitors with a privacy signal, and traces nothing', async () => {
    await visitor.page.addInitScript(() =>
      Object.defineProperty(navigator, 'globalPrivacyControl', { value: true }),
    )
    await site.open(
      visitor.page,
      `${tag('data-traces-sample-rate="1"')}${script(`
        Sentry.init({ tracesSampleRate: 1, initialScope: { tags: { team: 'shop' } } })
        Sentry.captureMessage('private')`)}`,
    )
    expect(await site.event('private')).toMatchObject({ tags: { gpc: true, team: 'shop' } })
    expect(await visitor.page.evaluate('Sentry.getClient().getOptions().tracesSampleRate')).toBeUndefined()
  })
})

/** Reports a message, and opens the dialog about it. `window.isClosed` says later that it was closed. */
async function openDialog(page: Visitor['page'], options: object): Promise<void> {
  await page.waitForFunction('Sentry.getClient')
  await page.evaluate(`new Promise((onLoad, onError) => {
    const onClose = () => { window.isClosed = true }
    window.eventId = Sentry.captureMessage('before the dialog')
    Sentry.showReportDialog({ ...${JSON.stringify(options)}, onLoad, onClose, onError })
  })`)
}

/** Returns how often the test's message is in the database of the project with this query. */
function countStored(page: Visitor['page'], query: string): Promise<number> {
  return page.evaluate(
    (name) =>
      new Promise<number>((resolve, reject) => {
        const opening = indexedDB.open(name)
        opening.onerror = () => reject(opening.error)
        opening.onsuccess = () => {
          const database = opening.result
          if (!database.objectStoreNames.contains('queue')) return resolve(0)
          const counting = database.transaction('queue').objectStore('queue').getAll()
          counting.onsuccess = () => {
            database.close()
            resolve(
              counting.result.filter(({ body }) =>
                new TextDecoder().decode(body).includes('kept for the next visit'),
              ).length,
            )
          }
        }
      }),
    `culvert-offline${query}`,
  )
}
