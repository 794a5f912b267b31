/**
 * Reports of pages with sdk.js that are being left, in each browser: all arrive, at the latest with the next visit. Firefox may end the process
 * of a closed tab, and of a page that it does not keep for the way back, before the page has been told; that is left out.
 */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ENGINES, requiresEngine, startEngine } from '../support/browser/engines.ts'
import { type SdkSite, startSdkSite, WORKER } from '../support/browser/sdk-site.ts'
import type { Engine, Tab, TabVisitor } from '../support/browser/tab.ts'

const TAG = '<script src="/monitoring/sdk.js" crossorigin></script>'
const KB = 1_000
const SIZES = [1, 50, 70, 150, 300]
const DATABASE_READS = `new Promise((resolve, reject) => {
  const opening = indexedDB.open('culvert-offline?p=456')
  opening.onerror = () => reject(opening.error)
  opening.onsuccess = () => {
    const counting = opening.result.transaction('queue').objectStore('queue').count()
    counting.onsuccess = () => { opening.result.close(); resolve(true) }
  }
})`

for (const name of ENGINES)
  describe(`A page with sdk.js in ${name}`, requiresEngine(name), () => {
    const started = new AsyncDisposableStack()
    let site: SdkSite
    let engine: Engine
    let visitor: TabVisitor
    let tab: Tab

    beforeAll(async () => {
      site = started.use(await startSdkSite())
      engine = started.use(await startEngine(name))
    })
    afterAll(() => started.disposeAsync())

    beforeEach(async () => {
      visitor = await engine.visitor()
      tab = await visitor.newTab()
    })
    afterEach(() => visitor[Symbol.asyncDispose]())

    async function reopen(): Promise<void> {
      await tab.close()
      tab = await visitor.newTab()
    }

    /** Returns the URL of a page with the tag; that of `site.secureUrl` may have a service worker. */
    function publish(code = '', url = site.url): string {
      const headers = name === 'firefox' ? {} : { 'cache-control': 'no-store' }
      const page = site.publish(`<body>${TAG}<script>${code}</script>`, '', headers)
      return url + new URL(page).pathname
    }

    /** Opens a page, and waits until its SDK is there. */
    async function open(url: string): Promise<void> {
      await tab.open(url)
      await tab.waitFor('Boolean(window.Sentry?.getClient)')
    }

    /** Lets the page report texts of these lengths when it is being left. */
    async function reportWhenLeft(text: string, lengths: number[]): Promise<void> {
      await tab.evaluate(`void addEventListener('pagehide', () => {
        for (const [i, length] of ${JSON.stringify(lengths)}.entries())
          Sentry.captureMessage('${text} ' + i, { extra: { text: 'x'.repeat(length) } })
      })`)
    }

    it.each([
      ['of 1, 50, 70, 150 and 300 KB', SIZES.map((size) => size * KB)],
      ['20 of 1 KB', Array(20).fill(KB)],
    ])('delivers reports while it is being left for a page of the site, %s', async (title, lengths) => {
      await open(publish())
      await reportWhenLeft(title, lengths)
      await open(publish())
      for (const i of lengths.keys()) await site.event(`${title} ${i}`)
      expect(await tab.evaluate(DATABASE_READS)).toBe(true)
    })

    const ways: [string, () => Promise<void>][] = [
      ['another site', () => tab.open(new URL('/', site.secureUrl).href)],
      ['nothing, since its tab is closed', reopen],
    ]

    it.each(ways.slice(0, name === 'firefox' ? 1 : 2))(
      'delivers reports while it is being left for %s',
      async (title, leave) => {
        const lengths = [...SIZES.map((size) => size * KB), ...Array(15).fill(KB)]
        await open(publish())
        await reportWhenLeft(title, lengths)
        await leave()
        await open(publish())
        for (const i of lengths.keys()) await site.event(`${title} ${i}`)
        expect(await tab.evaluate(DATABASE_READS)).toBe(true)
      },
    )

    it('delivers reports while it is being left with a service worker', async () => {
      const lengths = [...SIZES.map((size) => size * KB), ...Array(15).fill(KB)]
      await open(publish('', site.secureUrl))
      await tab.evaluate(`navigator.serviceWorker.register('${WORKER}').then(() => true)`)
      await tab.waitFor('Boolean(navigator.serviceWorker.controller)')
      await reportWhenLeft('with a worker', lengths)
      await tab.open(publish('', site.url))
      await open(publish('', site.secureUrl))
      for (const i of lengths.keys()) await site.event(`with a worker ${i}`)
    })

    it('delivers errors from each 4 ms before it is left, and the next page stores what it reports', async () => {
      await open(publish())
      await tab.evaluate(`void setInterval(() => Sentry.captureMessage('often'), 4)`)
      await open(publish())
      expect(await tab.evaluate(DATABASE_READS)).toBe(true)
      await tab.evaluate("Sentry.captureMessage('after many')")
      await site.event('after many')
    })

    it('keeps an error from before its SDK is there when it is left at once', async () => {
      const next = publish()
      const code = `Sentry.setTag('page', 'first'); setTimeout(() => { throw new RangeError('left at once') }); onerror = () => { location.href = '${next}' }`
      const first = publish(code)
      await tab.open(first)
      await tab.waitFor(`location.href === '${next}' && Boolean(window.Sentry?.getClient)`)
      expect(await site.event('left at once')).toMatchObject({
        request: { url: first },
        exception: {
          values: [
            {
              type: 'RangeError',
              mechanism: { handled: false, type: 'auto.browser.global_handlers.onerror' },
              stacktrace: { frames: expect.arrayContaining([expect.objectContaining({ filename: first })]) },
            },
          ],
        },
      })
      expect(site.countEvents('left at once')).toBe(1)
    })
  })
