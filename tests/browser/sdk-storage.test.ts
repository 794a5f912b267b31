/** Storage of sdk.js in Chromium: envelopes that the tunnel answers with 503, and storage that is full. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Chromium, shareChromium, type Visitor } from '../support/browser/chromium.ts'
import { type SdkSite, startSdkSite } from '../support/browser/sdk-site.ts'
import { requires } from '../support/requirements.ts'

const TAG = '<script src="/monitoring/sdk.js" crossorigin></script>'
const MAX_STORED = 30
const MIB = 1024 * 1024

describe('A page with sdk.js', requires('chromium', 'nginx'), () => {
  const started = new AsyncDisposableStack()
  let site: SdkSite
  let chromium: Chromium
  let visitor: Visitor
  let visit: AsyncDisposableStack

  beforeAll(async () => {
    site = started.use(await startSdkSite({ SPOOL_BYTES: String(MIB) }))
    chromium = await shareChromium()
  })
  afterAll(() => started.disposeAsync())

  beforeEach(async () => {
    visit = new AsyncDisposableStack()
    visitor = visit.use(await chromium.visitor())
    return () => visit.disposeAsync()
  })

  const capture = (text: string) => visitor.page.evaluate(`Sentry.captureMessage(${JSON.stringify(text)})`)

  /** Returns the query of the last post with this message. */
  const queryOf = (text: string) => {
    const post = visitor.posts.findLast((request) => request.postData()?.includes(`"${text}"`))
    return post && new URL(post.url()).search
  }

  /** Opens a page, and waits until its SDK has opened its database: before, the SDK stores nothing. */
  async function open(): Promise<void> {
    await site.open(visitor.page, TAG)
    await visitor.page.waitForFunction('Sentry.getClient')
    expect(await countStored(visitor.page, site.query)).toBe(0)
  }

  it('tells the tunnel that it keeps envelopes while its database has room', async () => {
    const { page } = visitor
    visitor.expectTrouble(/503/)
    visitor.allowTrouble(/ERR_ABORTED/)
    await open()
    await page.route(/\/monitoring\?/, (route) => route.fulfill({ status: 503 }))
    await capture('first')
    await expect.poll(() => queryOf('first')).toBe(`${site.query}&keep=1`)
    for (let i = 0; i < MAX_STORED; i++) await capture(`message ${i}`)
    await expect.poll(() => countStored(page, site.query)).toBe(MAX_STORED)
    await capture('without room')
    await expect.poll(() => queryOf('without room')).toBe(site.query)
  })

  it('sends what the tunnel has deferred, which is not counted as lost', async () => {
    const { page } = visitor
    visitor.expectTrouble(/503/)
    visitor.allowTrouble(/ERR_ABORTED/)
    await open()
    await site.sentry.away()
    await page.evaluate(`Sentry.captureMessage('deferred', { extra: { text: 'x'.repeat(${MIB / 2}) } })`)
    const receipt = await site.tunnel.receipt(({ status }) => status === 503)
    expect(receipt).toMatchObject({ outcome: 'deferred', reason: 'spool-share' })
    await expect.poll(() => countStored(page, site.query)).toBe(1)
    await site.sentry.back()
    await page.evaluate("dispatchEvent(new Event('online'))")
    await site.event('deferred')
    const outcomes = site.tunnel.receipts.map(({ outcome }) => outcome)
    expect(outcomes).not.toContain('rejected')
  })

  it('forgets what it has stored when the page says so', async () => {
    const { page } = visitor
    visitor.expectTrouble(/503/)
    visitor.allowTrouble(/ERR_ABORTED/)
    await open()
    await page.route(/\/monitoring\?/, (route) => route.fulfill({ status: 503 }))
    await capture('of the visitor who signs out')
    await expect.poll(() => countStored(page, site.query)).toBe(1)
    const stored = await page.evaluate('Sentry.clearStoredReports().then(() => indexedDB.databases())')
    expect(stored).toEqual([])
  })

  it('stores nothing with data-storage="off", and deletes what an earlier page has stored', async () => {
    const { page } = visitor
    visitor.expectTrouble(/503/)
    visitor.allowTrouble(/ERR_ABORTED/)
    await open()
    await page.route(/\/monitoring\?/, (route) => route.fulfill({ status: 503 }))
    await capture('before the visitor objects')
    await expect.poll(() => countStored(page, site.query)).toBe(1)
    await site.open(page, TAG.replace('></', ' data-storage="off"></'))
    await page.waitForFunction('Sentry.getClient')
    const rejected = page.waitForResponse((response) => response.status() === 503)
    await capture('without storage')
    await rejected
    expect(queryOf('without storage')).toBe(site.query)
    const stored = await page.evaluate(
      'indexedDB.databases().then((all) => [...all, ...Object.keys(localStorage)])',
    )
    expect(stored).toEqual([])
    await page.unroute(/\/monitoring\?/)
    await capture('accepted without storage')
    await site.event('accepted without storage')
    expect(visitor.posts.some((post) => post.postData()?.includes('before the visitor objects'))).toBe(true)
    expect(site.countEvents('before the visitor objects')).toBe(0)
  })

  it('sends what it reports just before and while it is left', async () => {
    const { page } = visitor
    visitor.allowTrouble(/ERR_ABORTED/)
    await open()
    await page.evaluate(() => {
      const { Sentry } = window as unknown as { Sentry: { captureMessage(text: string): void } }
      addEventListener('pagehide', () => Sentry.captureMessage('while leaving'))
      Sentry.captureMessage('before leaving')
      setTimeout(() => location.reload())
    })
    await site.event('before leaving')
    await site.event('while leaving')
  })

  it('reports while the storage is full, and the page keeps working', async () => {
    visitor.allowTrouble(/ERR_ABORTED/) // of a post that is under way when the page is closed
    await visitor.page.addInitScript(() => {
      const fail = () => {
        throw new DOMException('full', 'QuotaExceededError')
      }
      IDBObjectStore.prototype.add = fail
      IDBObjectStore.prototype.put = fail
      Storage.prototype.setItem = fail
    })
    await site.open(visitor.page, TAG)
    await visitor.page.waitForFunction('Sentry.getClient')
    await capture('with full storage')
    await site.event('with full storage')
    visitor.expectTrouble(/503/)
    await visitor.page.route(/\/monitoring\?/, (route) => route.fulfill({ status: 503 }))
    const rejected = visitor.page.waitForResponse((response) => response.status() === 503)
    await capture('lost')
    await rejected
    await visitor.page.unroute(/\/monitoring\?/)
    await capture('after the loss')
    await site.event('after the loss')
  })
})

/** Returns the number of envelopes in the database of the project with this query. */
function countStored(page: Visitor['page'], query: string): Promise<number> {
  return page.evaluate(
    (name) =>
      new Promise<number>((resolve, reject) => {
        const opening = indexedDB.open(name)
        opening.onerror = () => reject(opening.error)
        opening.onsuccess = () => {
          const counting = opening.result.transaction('queue').objectStore('queue').count()
          counting.onsuccess = () => {
            opening.result.close()
            resolve(counting.result)
          }
        }
      }),
    `culvert-offline${query}`,
  )
}
