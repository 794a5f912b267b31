/** Live feed of the console in Chromium: every envelope once, also over disconnections, with its details. */

import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { SITE_HOST } from '../support/browser/chromium.ts'
import { type ConsoleSite, press } from '../support/browser/console.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { perFile } from '../support/lifetime.ts'
import { requires } from '../support/requirements.ts'
import { openProxy } from '../support/visitor-proxy.ts'

const it = base.extend('replicas', perFile, 3)

describe('The live feed', requires('chromium', 'nginx'), () => {
  it.beforeAll(async ({ consoleSite }) => {
    await consoleSite.sendMany(6, consoleSite.newError, 200)
    await consoleSite.sendMany(3, () => consoleSite.newError('https://abc@elsewhere.example/9'), 403)
    await consoleSite.sendMany(2, () => Buffer.from('not an envelope'), 400)
  })

  const rowsOf = (page: Page) => page.getByRole('list', { name: 'Envelopes, newest first' })
  const receiptsOf = (page: Page) => rowsOf(page).getByRole('button')
  const idsOn = (page: Page) =>
    receiptsOf(page).evaluateAll((rows) => rows.map((row) => row.getAttribute('data-receipt')).sort())

  /** Waits until the running and stopped tunnels have recorded `count` envelopes, and the page shows exactly these. */
  async function showsAll(consoleSite: ConsoleSite, page: Page, many: number): Promise<string[]> {
    const settled = () =>
      consoleSite.site.tunnels.flatMap(({ receipts }) => receipts.map(({ id }) => id)).sort()
    await expect.poll(settled).toHaveLength(many)
    const all = settled()
    await expect.poll(() => idsOn(page)).toEqual(all)
    return all
  }

  it('lists every envelope once, filtered by the parameters in the URL', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator('/live-feed')
    const { page } = visitor
    await showsAll(consoleSite, page, 11)
    await page.getByText('11 envelopes', { exact: true }).waitFor()
    await page.getByLabel('Outcome').selectOption('rejected')
    await page.waitForURL('**/live-feed?outcome=rejected')
    await page.getByText('5 envelopes of 11').waitFor()
    await page.reload()
    await page.getByText('5 envelopes of 11').waitFor()
    await page.getByLabel('Reason').selectOption('dsn-unknown')
    await page.getByText('3 envelopes of 11').waitFor()
    await page.getByLabel('Text').fill('no such thing')
    await page.getByText('No envelope matches the filter.').waitFor()
    await press(page.getByRole('button', { name: 'Show all' }))
    await page.getByText('11 envelopes', { exact: true }).waitFor()
  })

  it('shows timings, items and next step of an envelope, at its own URL', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator('/live-feed')
    const { page } = visitor
    await receiptsOf(page).filter({ hasText: 'dsn-unknown' }).first().click()
    const details = page.getByRole('region', { name: 'Receipt' })
    await details.getByText('Add it to SENTRY_DSN').waitFor()
    await page.waitForURL('**/live-feed?receipt=*')
    await page.goto(page.url())
    await details.getByText('Add it to SENTRY_DSN').waitFor()

    const delivered = receiptsOf(page).filter({ hasText: 'delivered' }).first()
    const id = await delivered.getAttribute('data-receipt')
    await delivered.click()
    await page.waitForURL(`**/live-feed?receipt=${id}`)
    const receipt = consoleSite.site.tunnels
      .flatMap(({ receipts }) => receipts)
      .find((each) => each.id === id)
    await details.getByText(`, ${Math.round((receipt?.duration_ms ?? 0) * 10) / 10} ms in total`).waitFor()
    await details.getByText('until Sentry responded').waitFor()
    await details
      .getByRole('table', { name: 'Items' })
      .getByRole('row', { name: /^event 1 \d+ B/ })
      .waitFor()

    await page.goto(`${consoleSite.site.url}/console/live-feed?receipt=unknown-1`)
    await page.getByText(/unknown-1 is not among the newest 10,000/).waitFor()
  })

  it('selects rows by arrow keys, and Escape closes the open row and restores the focus', async ({
    consoleSite,
  }) => {
    await using visitor = await consoleSite.operator('/live-feed')
    const { page } = visitor
    await page.getByText('11 envelopes', { exact: true }).waitFor()
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-receipt'))
    await expect.poll(() => receiptsOf(page).count()).toBe(11)
    const [first, , third] = await receiptsOf(page).evaluateAll((rows) =>
      rows.map((row) => row.getAttribute('data-receipt')),
    )
    await page.getByLabel('Text').focus()
    await page.keyboard.press('Tab')
    expect(await focused()).toBe(first)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await expect.poll(focused).toBe(third)
    await page.keyboard.press('Enter')
    const details = page.getByRole('region', { name: 'Receipt' })
    await details.getByText(String(third)).waitFor()
    await page.keyboard.press('Home')
    await details.getByText(String(first)).waitFor()
    await page.keyboard.press('Escape')
    await details.waitFor({ state: 'detached' })
    await expect.poll(focused).toBe(first)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Shift+Tab')
    expect(await focused()).toBe(first) // the list is one tab stop
  })

  it('shows all envelopes that arrived during a pause or a dropped connection once', async ({
    consoleSite,
  }) => {
    await using proxy = await openProxy(consoleSite.site.port)
    await using visitor = await consoleSite.operator('/live-feed', {}, `http://${SITE_HOST}:${proxy.port}`)
    const { page } = visitor
    await showsAll(consoleSite, page, 11)
    await press(page.getByRole('button', { name: 'Pause' }))
    await page.getByRole('status').filter({ hasText: 'paused' }).waitFor()
    const before = await idsOn(page)
    await consoleSite.sendMany(3, consoleSite.newError, 200)
    expect(await idsOn(page)).toEqual(before)
    await press(page.getByRole('button', { name: 'Resume' }))
    await showsAll(consoleSite, page, 14)

    visitor.allowTrouble(/ERR_/)
    proxy.cut()
    await page.getByText('connection lost, reconnecting').waitFor()
    await consoleSite.sendMany(3, consoleSite.newError, 200)
    await showsAll(consoleSite, page, 17)
  })

  it('has no connection while its tab is hidden, and shows later what has arrived meanwhile', async ({
    consoleSite,
  }) => {
    await using visitor = await consoleSite.operator('/live-feed')
    const { page } = visitor
    visitor.allowTrouble(/\/console\/receipts.* net::ERR_ABORTED/)
    await showsAll(consoleSite, page, 17)
    const turn = (state: string) =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'visibilityState', { value, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }, state)
    const closed = page.waitForEvent('requestfailed', (request) =>
      request.url().includes('/console/receipts'),
    )
    await turn('hidden')
    await closed
    await consoleSite.sendMany(1, consoleSite.newError, 200)
    expect(await idsOn(page)).toHaveLength(17)
    await turn('visible')
    await showsAll(consoleSite, page, 18)
  })

  it('renders only visible rows', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator('/live-feed')
    const { page } = visitor
    await consoleSite.sendMany(150, consoleSite.newError, 200)
    await page.getByText(/^1[56]\d envelopes$/).waitFor()
    expect(await receiptsOf(page).count()).toBeLessThan(60)
    await receiptsOf(page).first().focus()
    await page.keyboard.press('End')
    const oldest = () => page.evaluate(() => document.activeElement?.textContent)
    await expect.poll(oldest).toMatch(/delivered|rejected/)
    await press(page.getByRole('button', { name: /newer$/ }))
    await page.getByRole('button', { name: /newer$/ }).waitFor({ state: 'detached' })
  })
})
