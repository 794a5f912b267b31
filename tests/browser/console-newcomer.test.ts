/** Console of a site without a Sentry, as a newcomer meets it. */

import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { INBOX_DSN } from '../../contract/dsn.ts'
import { type Chromium, SITE_HOST, type Visitor } from '../support/browser/chromium.ts'
import { press, untilHydrated, untilListed } from '../support/browser/console.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { envelopeOf, errorOf } from '../support/envelopes.ts'
import { perFile } from '../support/lifetime.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import type { Site } from '../support/site.ts'
import { PASSWORD, signIn } from '../support/web/operator.ts'

const it = base.extend('siteOptions', perFile, { env: { OPERATOR_PASSWORD: PASSWORD } })

describe('The console without a Sentry', requires('chromium', 'nginx'), () => {
  it('leads from the empty overview to the set-up, which turns green with the first envelope', async ({
    site,
    chromium,
  }) => {
    await using visitor = await operator(site, chromium)
    const { page } = visitor
    await page.getByRole('main').getByRole('link', { name: 'Set up your site' }).click()
    await page.waitForURL('**/console/setup')
    const arrival = page.getByRole('region', { name: '3. Send the first envelope' }).getByRole('status')
    await arrival.filter({ hasText: 'Waiting for the first envelope of inbox.invalid/1' }).waitFor()
    await page.getByRole('figure', { name: 'Script tag' }).waitFor()
    expect(await page.getByRole('figure', { name: 'Line for the settings' }).count()).toBe(0)

    const report = { header: { type: 'client_report' }, payload: '{"discarded_events":[]}' }
    await send(site, envelopeOf({ dsn: INBOX_DSN }, [report]))
    const origin = site.url
    await send(site, errorOf(INBOX_DSN, { event_id: newEventId() }), { origin })
    await arrival.filter({ hasText: `from ${origin}. Is this your site?` }).waitFor()
    await page.getByRole('textbox', { name: /^Address of your site/ }).fill('https://shop.example')
    await arrival.filter({ hasText: `The last one came from ${origin}.` }).waitFor()
    await page.getByRole('textbox', { name: /^Address of your site/ }).fill('')
    await press(page.getByRole('button', { name: 'Yes, this is my site' }))
    await arrival
      .filter({
        hasText: `It works: the first envelope of inbox.invalid/1 from ${origin} (event) arrived at`,
      })
      .waitFor()
    await page.getByRole('link', { name: 'Open it in the inbox' }).click()
    await page.waitForURL('**/console/inbox/*')
    await page.getByRole('button', { name: 'Copy the envelope ID' }).waitFor()
  })

  it('shows the snippets and the line of a DSN, and the problem with an invalid one', async ({
    site,
    chromium,
  }) => {
    await using visitor = await operator(site, chromium, '/setup')
    const { page } = visitor
    const target = page.getByLabel('To a project of Sentry')
    await untilHydrated(target)
    await target.check()
    const field = page.getByRole('textbox', { name: /^DSN/ })
    await field.fill('sentry.io/2')
    await page.getByText('SENTRY_DSN: "sentry.io/2" is not a DSN; write it as Sentry shows it').waitFor()
    await field.fill('https://key@o1.ingest.us.sentry.io/2')
    const env = page.getByRole('figure', { name: 'Line for the settings' })
    await expect
      .poll(() => env.locator('pre').innerText())
      .toBe('SENTRY_DSN=https://key@o1.ingest.us.sentry.io/2')
    await page.getByLabel('Next.js').check()
    const browser = page.getByRole('figure', { name: 'instrumentation-client.ts' })
    await browser.getByText("tunnel: '/monitoring?p=2&o=1&r=us'").waitFor()
    const server = page.getByRole('figure', { name: 'instrumentation.ts' })
    await server.getByText('TUNNEL_ORIGIN &&').waitFor()
    await server.getByText('onRequestError').waitFor()

    await send(site, errorOf('https://key@o1.ingest.us.sentry.io/2', {}), { status: 403 })
    await page.getByText('arrived, but was rejected (dsn-unknown).').waitFor()
    await page
      .getByText('put this line into .env, if this DSN is yours, and start Culvert again with npm start:')
      .waitFor()
    const accepting = page.getByRole('figure', { name: 'Line for the settings: dsn-unknown' })
    await expect
      .poll(() => accepting.locator('pre').innerText())
      .toBe('SENTRY_DSN=https://key@o1.ingest.us.sentry.io/2')
  })

  it('hides client reports in the inbox until they are asked for', async ({ site, chromium }) => {
    const report = { header: { type: 'client_report' }, payload: '{"discarded_events":[]}' }
    await send(site, envelopeOf({ dsn: INBOX_DSN }, [report]))
    await using visitor = await operator(site, chromium, '/inbox')
    const { page } = visitor
    const entries = page.getByRole('list', { name: 'Groups, last updated first' }).getByRole('link')
    await untilListed(entries)
    expect(await entries.filter({ hasText: 'client_report' }).count()).toBe(0)
    await page.getByRole('link', { name: 'Client reports' }).click()
    await entries.filter({ hasText: 'client_report' }).first().waitFor()
  })

  it('links a receipt to its envelope in the inbox, and that to its receipt', async ({ site, chromium }) => {
    const eventId = newEventId()
    await send(site, errorOf(INBOX_DSN, { event_id: eventId }))
    await using visitor = await operator(site, chromium, `/live-feed?text=${eventId}`)
    const { page } = visitor
    await press(page.getByRole('button', { name: /delivered/ }))
    const receipt = page.getByRole('region', { name: 'Receipt' })
    await receipt.getByRole('link', { name: 'Open in the inbox' }).click()
    await page.waitForURL('**/console/inbox/*')
    await page.getByRole('link', { name: 'Receipt in the live feed' }).click()
    await receipt.getByText(eventId, { exact: true }).waitFor()
  })

  it('stores a report of the error lab unmodified, and shows where it arrived', async ({
    site,
    chromium,
  }) => {
    await using visitor = await operator(site, chromium)
    const { page } = visitor
    visitor.expectTrouble(/uncaught Error: Thrown/)
    await page.goto(`${site.url}/lab`)
    const row = page.getByRole('listitem', { name: 'Throw an error' })
    await press(row.getByRole('button'))
    await row.getByRole('link', { name: 'Open in the console' }).click()
    await page.waitForURL(/\/console\/inbox\/[^/]+$/)
    const kept = await site.tunnel.admin(`/inbox/${page.url().split('/').at(-1)}`)
    const sent = visitor.posts.map((each) => each.postDataBuffer())
    expect(sent).toContainEqual(Buffer.from(await kept.arrayBuffer()))
    await page.getByRole('heading', { level: 1, name: /Thrown/ }).waitFor()
    const stack = page.getByRole('list', { name: /^Stack trace/ })
    await stack
      .getByText(/^web\/features\/lab\/.+\.tsx?:\d+:\d+$/)
      .first()
      .waitFor()
    await stack.getByRole('strong').filter({ hasText: 'throw' }).first().waitFor() // the line of the source
    const [script] = await page.locator('script[src*="/chunks/"]').all()
    const { pathname } = new URL((await script?.getAttribute('src')) ?? '', site.url)
    const address = `http://127.0.0.1:${site.port}${pathname}`
    expect((await fetch(`${address}.map`)).status).toBe(404)
    expect(await (await fetch(address)).text()).not.toContain('sourceMappingURL')
  })

  it('shows the spool of the inbox', async ({ site, chromium }) => {
    await using visitor = await operator(site, chromium, '/spool')
    await visitor.page.getByRole('region', { name: 'Pending' }).waitFor()
  })

  it('lists shortcuts in a dialog that Escape closes, and follows them', async ({ site, chromium }) => {
    await using visitor = await operator(site, chromium, '/replicas')
    const { page } = visitor
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await pressUntil(page, '?', async () => dialog.isVisible())
    for (let presses = 0; presses < 5; presses++) {
      await page.keyboard.press('Tab')
      const isOutside = await page.evaluate(
        () =>
          document.activeElement !== document.body &&
          !document.querySelector('dialog')?.contains(document.activeElement),
      )
      expect(isOutside).toBe(false)
    }
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    await page.keyboard.press('g')
    await page.keyboard.press('f')
    await page.waitForURL('**/console/live-feed')
    const filter = page.getByRole('searchbox')
    await pressUntil(page, '/', async () => filter.evaluate((field) => field === document.activeElement))
    await page.keyboard.type('g?') // no shortcut in a field
    await expect.poll(() => filter.inputValue()).toBe('g?')
    expect(await dialog.isVisible()).toBe(false)
  })

  it('turns the shortcuts off in this browser, and on again', async ({ site, chromium }) => {
    await using visitor = await operator(site, chromium, '/replicas')
    const { page } = visitor
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    const open = page.getByRole('button', { name: 'Keyboard shortcuts' })
    await pressUntil(page, '?', async () => dialog.isVisible())
    await dialog.getByLabel('Use these shortcuts').uncheck()
    await press(dialog.getByRole('button', { name: 'Close' }))
    await page.reload()
    await page.keyboard.press('?')
    await press(open)
    await expect.poll(() => dialog.getByLabel('Use these shortcuts').isChecked()).toBe(false)
    await press(dialog.getByRole('button', { name: 'Close' }))
    await page.keyboard.press('?')
    expect(await dialog.isVisible()).toBe(false)
    await press(open)
    await dialog.getByLabel('Use these shortcuts').check()
    await press(dialog.getByRole('button', { name: 'Close' }))
    await pressUntil(page, '?', async () => dialog.isVisible())
  })

  it('announces the result of an action, and does not repeat it after a reload', async ({
    site,
    chromium,
  }) => {
    const id = newEventId()
    await send(site, errorOf(INBOX_DSN, { event_id: id }))
    await using visitor = await operator(site, chromium, `/inbox/by-event/${id}`)
    const { page } = visitor
    await press(page.getByRole('button', { name: 'Delete' }))
    await press(page.getByRole('button', { name: 'Yes, delete' }))
    const toast = page.getByRole('status', { name: 'Result of the last action' })
    await toast.filter({ hasText: 'The envelope was deleted.' }).waitFor()
    await page.waitForURL('**/console/inbox')
    await page.reload()
    await page.getByRole('list', { name: 'Groups, last updated first' }).waitFor()
    expect(await page.getByText('The envelope was deleted.').count()).toBe(0)
  })
})

const newEventId = () => randomUUID().replaceAll('-', '')

type Sending = { status?: number; origin?: string }

async function send(site: Site, body: Buffer, { status = 200, origin }: Sending = {}): Promise<void> {
  const headers = origin === undefined ? {} : { origin, 'sec-fetch-site': 'same-origin' }
  expect((await post(`http://127.0.0.1:${site.port}`, { body, headers })).status).toBe(status)
}

/** Signed-in operator at a page of the console. */
async function operator(site: Site, chromium: Chromium, path = ''): Promise<Visitor> {
  const visitor = await chromium.visitor()
  const { page } = visitor
  const { cookie = '' } = await signIn(`http://127.0.0.1:${site.port}`, { password: PASSWORD })
  const [name = '', value = ''] = cookie.split('=')
  await page.context().addCookies([{ name, value, domain: SITE_HOST, path: '/console' }])
  await page.goto(`${site.url}/console${path}`)
  visitor.allowTrouble(/^failed: GET .*ERR_ABORTED/) // leaving a page aborts its live feed
  return visitor
}

/** Presses a key until it has its effect: a page takes no keys before it is hydrated. */
async function pressUntil(page: Page, key: string, isDone: () => Promise<boolean>): Promise<void> {
  await expect
    .poll(async () => {
      if (!(await isDone())) await page.keyboard.press(key)
      return isDone()
    })
    .toBe(true)
}
