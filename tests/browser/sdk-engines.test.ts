/** Pages with the script element of sdk.js in each browser: the basic cases. */

import { describe, expect } from 'vitest'
import { ENGINES, requiresEngine } from '../support/browser/engines.ts'
import { openWithSdk, sdkTestIn, TAG } from '../support/browser/sdk-test.ts'
import { hasItem } from '../support/sentry/received-request.ts'

/** Time after which the SDK gives a transaction up, which each report would take if they waited for the database. */
const TRANSACTION_MS = 5_000
const FORM = "document.getElementById('culvert-report-dialog')?.shadowRoot.querySelector('form')"

for (const name of ENGINES) {
  const it = sdkTestIn(name, 'share').extend(
    'open',
    ({ site, tab }) =>
      /** Opens a page with the tag and this code, and waits until the SDK is there. */
      (code = '', inTab = tab) =>
        openWithSdk(inTab, site.publish(`${TAG}<script>${code}</script><body>`)),
  )

  describe(`A page with sdk.js in ${name}`, requiresEngine(name), () => {
    it.afterEach(({ site, visitor }) => {
      const origins = new Set(visitor.requests.map((url) => new URL(url).origin))
      expect([...origins]).toEqual([site.url])
    })

    it('reports errors and rejections, from before the SDK is there and from later', async ({
      site,
      tab,
      open,
    }) => {
      await open("Promise.reject(new Error('rejected early')); throw new Error('first script')")
      await site.event('rejected early')
      expect(await site.event('first script')).toMatchObject({
        exception: {
          values: [{ mechanism: { handled: false, type: 'auto.browser.global_handlers.onerror' } }],
        },
      })
      expect(site.countEvents('first script')).toBe(1)
      await tab.evaluate(`void setTimeout(() => { throw new Error('later') })`)
      await site.event('later')
      await tab.evaluate(`void setTimeout(() => { Promise.reject(new Error('rejected')) })`)
      await site.event('rejected')
    })

    it('sends what was raised offline when the visitor is online again', async ({
      site,
      visitor,
      tab,
      open,
    }) => {
      await open()
      await visitor.setOffline('offline')
      await tab.evaluate("Sentry.captureMessage('offline')")
      await tab.waitFor(countStored(site.query, 'offline'))
      expect(site.countEvents('offline')).toBe(0)
      await visitor.setOffline('online')
      await site.event('offline')
    })

    it('sends at the next visit what was raised in a tab that was closed offline', async ({
      site,
      visitor,
      tab,
      open,
    }) => {
      await open()
      await visitor.setOffline('offline')
      await tab.evaluate("Sentry.captureMessage('closed')")
      await tab.waitFor(countStored(site.query, 'closed'))
      await tab.close()
      await visitor.setOffline('online')
      await open('', await visitor.newTab())
      await site.event('closed')
    })

    it('sends reports while another tab keeps the database locked', async ({ site, visitor, tab, open }) => {
      await open()
      await tab.evaluate(lock(site.query))
      const next = await visitor.newTab()
      await open('', next)
      const durationMs = await next.evaluate(`(async () => {
        const start = performance.now()
        for (const i of [1, 2, 3]) {
          Sentry.captureMessage('while locked ' + i)
          await Sentry.flush(${TRANSACTION_MS * 4})
        }
        return performance.now() - start
      })()`)
      for (const i of [1, 2, 3]) await site.event(`while locked ${i}`)
      expect(durationMs).toBeLessThan(TRANSACTION_MS)
    })

    it('opens a report dialog, whose feedback names the event', async ({ site, tab, open }) => {
      await open()
      await tab.evaluate("Sentry.captureMessage('with a dialog')")
      const event = await site.event('with a dialog')
      await tab.evaluate(
        `new Promise((onLoad, onError) => Sentry.showReportDialog({ lang: 'fr', onLoad, onError }))`,
      )
      expect(await tab.evaluate(`${FORM}.closest('dialog').ariaLabel`)).toBe(
        'Il semble que nous rencontrions un problème.',
      )
      await tab.evaluate(`(() => {
      const form = ${FORM}
      const message = form.querySelector('textarea')
      message.value = 'I clicked.'
      message.dispatchEvent(new Event('input', { bubbles: true }))
      form.requestSubmit()
    })()`)
      const { items } = await site.sentry.next(hasItem('feedback'))
      const feedback = items.find(({ header }) => header.type === 'feedback')
      expect(JSON.parse(String(feedback?.payload)).contexts.feedback).toMatchObject({
        message: 'I clicked.',
        associated_event_id: event.event_id,
      })
    })

    it('reports, and opens its dialog, with a policy of trusted types', async ({ site, tab }) => {
      const html = `<body>${TAG}<script>Sentry.captureMessage('with trusted types')</script>`
      const others = "script-src 'self' 'unsafe-inline'; connect-src 'self'"
      const policy = "require-trusted-types-for 'script'; trusted-types culvert"
      await tab.open(site.publish(html, `${others}; ${policy}`))
      await site.event('with trusted types')
      await tab.evaluate(`new Promise((onLoad, onError) => Sentry.showReportDialog({ onLoad, onError }))`)
      expect(await tab.evaluate(`${FORM}.closest('dialog').open`)).toBe(true)
    })

    /** Returns an expression for a transaction that stays open. */
    function lock(query: string): string {
      return `new Promise((resolve) => {
        const opening = indexedDB.open('culvert-offline${query}')
        opening.onsuccess = () => {
          const queue = opening.result.transaction('queue', 'readwrite').objectStore('queue')
          const hold = () => { resolve(true); queue.count().onsuccess = hold }
          queue.count().onsuccess = hold
        }
      })`
    }

    /** Returns an expression for how many stored envelopes have this message. */
    function countStored(query: string, message: string): string {
      return `new Promise((resolve) => {
      const opening = indexedDB.open('culvert-offline${query}')
      opening.onsuccess = () => {
        const database = opening.result
        const reading = database.transaction('queue').objectStore('queue').getAll()
        reading.onsuccess = () => {
          database.close()
          const texts = reading.result.map(({ body }) => new TextDecoder().decode(body))
          resolve(texts.filter((text) => text.includes('${message}')).length)
        }
      }
    })`
    }
  })
}
