/**
 * Reports of pages with sdk.js that are being left, in each browser: all arrive, at the latest with the next visit. Firefox may end the process
 * of a closed tab, and of a page that it does not keep for the way back, before the page has been told; that is left out.
 */

import { describe, expect } from 'vitest'
import { ENGINES, requiresEngine } from '../support/browser/engines.ts'
import { WORKER } from '../support/browser/sdk-site.ts'
import { openWithSdk, sdkTestIn, TAG } from '../support/browser/sdk-test.ts'
import type { Tab } from '../support/browser/tab.ts'

const KB = 1_000
/** Lengths of the texts that a page reports when it is being left. */
const MIXED = [...[1, 50, 70, 150, 300].map((size) => size * KB), ...Array<number>(15).fill(KB)]
const DATABASE_READS = `new Promise((resolve, reject) => {
  const opening = indexedDB.open('culvert-offline?p=456')
  opening.onerror = () => reject(opening.error)
  opening.onsuccess = () => {
    const counting = opening.result.transaction('queue').objectStore('queue').count()
    counting.onsuccess = () => { opening.result.close(); resolve(true) }
  }
})`
/** Pages that are left until one has reported everything. Firefox cuts off the listeners of a page that it does not keep. */
const MAX_PAGES = { chromium: 1, firefox: 3, webkit: 1 }
const hasReported = (text: string) => `new Promise((resolve) => {
  setTimeout(resolve, 10_000, false)
  const check = () => localStorage.getItem('reported') === '${text}' && resolve(true)
  addEventListener('storage', check)
  check()
})`

for (const name of ENGINES) {
  const it = sdkTestIn(name, 'share').extend(
    'publish',
    ({ site }) =>
      /** Returns the URL of a page with the tag; that of `site.secureUrl` may have a service worker. */
      (code = '', url = site.url): string => {
        const headers = name === 'firefox' ? {} : { 'cache-control': 'no-store' }
        const page = site.publish(`<body>${TAG}<script>${code}</script>`, '', headers)
        return url + new URL(page).pathname
      },
  )

  describe(`A page with sdk.js in ${name}`, requiresEngine(name), () => {
    /** Lets the page make the reports when it is being left. */
    async function reportWhenLeft(tab: Tab, text: string): Promise<void> {
      await tab.evaluate(`void addEventListener('pagehide', () => {
        for (const [i, length] of ${JSON.stringify(MIXED)}.entries())
          Sentry.captureMessage('${text} ' + i, { extra: { text: 'x'.repeat(length) } })
        localStorage.setItem('reported', '${text}')
      })`)
    }

    it('delivers reports while it is being left for a page of the site', async ({ site, tab, publish }) => {
      await openWithSdk(tab, publish())
      await reportWhenLeft(tab, 'for a page')
      await openWithSdk(tab, publish())
      for (const i of MIXED.keys()) await site.event(`for a page ${i}`)
      expect(await tab.evaluate(DATABASE_READS)).toBe(true)
    })

    it('delivers reports while it is being left for another site', async ({ site, tab, publish }) => {
      await openWithSdk(tab, publish())
      await reportWhenLeft(tab, 'for another site')
      await tab.open(new URL('/', site.secureUrl).href)
      await openWithSdk(tab, publish())
      for (const i of MIXED.keys()) await site.event(`for another site ${i}`)
      expect(await tab.evaluate(DATABASE_READS)).toBe(true)
    })

    it('delivers reports while it is being left beside another tab, without a next visit', async ({
      site,
      visitor,
      tab,
      publish,
    }) => {
      await openWithSdk(tab, publish())
      const leave = async (text: string) => {
        const left = await visitor.newTab()
        await openWithSdk(left, publish())
        await reportWhenLeft(left, text)
        await left.open(new URL('/', site.secureUrl).href)
        return tab.evaluate(hasReported(text))
      }
      let count = 1
      while (!(await leave(`beside another tab, ${count}`))) expect(count++).toBeLessThan(MAX_PAGES[name])
      for (const i of MIXED.keys()) await site.event(`beside another tab, ${count} ${i}`)
    })

    if (name !== 'firefox')
      it('delivers reports while its tab is being closed', async ({ site, visitor, tab, publish }) => {
        await openWithSdk(tab, publish())
        await reportWhenLeft(tab, 'in a closed tab')
        await tab.close()
        const next = await visitor.newTab()
        await openWithSdk(next, publish())
        for (const i of MIXED.keys()) await site.event(`in a closed tab ${i}`)
        expect(await next.evaluate(DATABASE_READS)).toBe(true)
      })

    it('delivers reports while it is being left with a service worker', async ({ site, tab, publish }) => {
      await openWithSdk(tab, publish('', site.secureUrl))
      await tab.evaluate(`navigator.serviceWorker.register('${WORKER}').then(() => true)`)
      await tab.waitFor('navigator.serviceWorker.controller')
      await reportWhenLeft(tab, 'with a worker')
      await tab.open(publish('', site.url))
      await openWithSdk(tab, publish('', site.secureUrl))
      for (const i of MIXED.keys()) await site.event(`with a worker ${i}`)
    })

    it('delivers errors from each 4 ms before it is left, and the next page stores what it reports', async ({
      site,
      tab,
      publish,
    }) => {
      await openWithSdk(tab, publish())
      await tab.evaluate(`void setInterval(() => Sentry.captureMessage('often'), 4)`)
      await openWithSdk(tab, publish())
      expect(await tab.evaluate(DATABASE_READS)).toBe(true)
      await tab.evaluate("Sentry.captureMessage('after many')")
      await site.event('after many')
    })

    it('keeps errors from before its SDK is there when it and the next page are left at once', async ({
      site,
      tab,
      publish,
    }) => {
      const publishLeaving = (text: string, next: string) =>
        publish(
          `Sentry.setTag('page', '${text}'); setTimeout(() => { throw new RangeError('${text}') }); onerror = () => { location.href = '${next}' }`,
        )
      const last = publish()
      const second = publishLeaving('left at once, too', last)
      const first = publishLeaving('left at once', second)
      await tab.open(first)
      await tab.waitFor(`location.href === '${last}' && window.Sentry?.getClient`)
      for (const [text, url] of [
        ['left at once', first],
        ['left at once, too', second],
      ] as const) {
        expect(await site.event(text)).toMatchObject({
          request: { url },
          exception: {
            values: [
              {
                type: 'RangeError',
                mechanism: { handled: false, type: 'auto.browser.global_handlers.onerror' },
                stacktrace: { frames: expect.arrayContaining([expect.objectContaining({ filename: url })]) },
              },
            ],
          },
        })
        expect(site.countEvents(text)).toBe(1)
      }
    })
  })
}
