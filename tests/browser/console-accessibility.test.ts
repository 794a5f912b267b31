/** Accessibility of the operator's console, by axe, on desktops and phones. */

import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { findingsInBothThemes, findingsOn } from '../support/browser/axe.ts'
import { type ConsoleSite, press, untilListed } from '../support/browser/console.ts'
import { it } from '../support/browser/fixtures.ts'
import { smallTargetsOn } from '../support/browser/targets.ts'
import { requires } from '../support/requirements.ts'
import { captureFor } from '../support/sdk-captures.ts'

const DESKTOP = { width: 1280, height: 900 }
const PHONE = { width: 390, height: 844 }
const PAGES = [
  '',
  '/live-feed',
  '/find?id=fc6d8c0c43fc4630ad850ee518f1b9d0',
  '/rejections',
  '/policies',
  '/projects',
  '/spool',
  '/spool?state=declined',
  '/inbox',
  '/replicas',
  '/setup',
  '/docs/console',
]

describe('The console', requires('chromium', 'nginx'), () => {
  it('has no axe finding on any page in either theme, fits a phone screen, and has targets of 24 px', async ({
    consoleSite,
  }) => {
    await using visitor = await consoleSite.operator()
    const { page } = visitor
    for (const path of PAGES) {
      await page.setViewportSize(DESKTOP)
      await page.goto(`${consoleSite.site.url}/console${path}`)
      if (path === '/live-feed') await page.getByText(/^\d+ envelopes$/).waitFor()
      await expectForAll(page, path)
    }
  })

  it('has no axe finding in opened entries and on the sign-in page in either theme', async ({
    consoleSite,
  }) => {
    await using opened = await openings(consoleSite)
    await using visitor = await consoleSite.operator()
    const { page } = visitor
    for (const [path, title] of opened.paths) {
      await page.setViewportSize(DESKTOP)
      await page.goto(consoleSite.site.url + path)
      await page.getByRole('heading', { name: title }).first().waitFor()
      await expectForAll(page, path)
    }
    await press(page.getByRole('button', { name: 'Sign out' }).first())
    await page.waitForURL('**/console/sign-in')
    await page.setViewportSize(DESKTOP)
    await expectForAll(page, '/console/sign-in')
  })

  it('has one navigation row on a phone, whose menu opens and closes by keyboard', async ({
    consoleSite,
  }) => {
    await using visitor = await consoleSite.operator('', { viewport: PHONE })
    const { page } = visitor
    const nav = page.getByRole('navigation', { name: 'Console' })
    const menu = page.getByRole('button', { name: 'Menu' })
    await menu.waitFor()
    await expect.poll(() => nav.count()).toBe(0)
    const header = await page.getByRole('banner').boundingBox()
    expect(header?.height).toBeLessThan(80)
    await expect
      .poll(async () => {
        if ((await menu.getAttribute('aria-expanded')) === 'false') await menu.press('Enter')
        return nav.count()
      })
      .toBe(1)
    await nav.getByRole('link', { name: 'Replicas' }).press('Escape')
    await expect.poll(() => nav.count()).toBe(0)
    await menu.press('Enter')
    await nav.getByRole('link', { name: 'Spool' }).click()
    await page.waitForURL('**/console/spool')
  })

  it('keeps the theme that the operator chose, whatever the system prefers', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator('', { colorScheme: 'light' })
    const { page } = visitor
    const ground = () => page.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor)
    const light = await ground()
    const button = page.getByRole('button', { name: /^Theme: / })
    await expect
      .poll(async () => {
        if ((await button.textContent()) !== 'Theme: dark') await button.click()
        return button.textContent()
      })
      .toBe('Theme: dark')
    await expect.poll(ground).not.toBe(light)
    await page.goto(`${consoleSite.site.url}/console/spool`)
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
    await expect.poll(ground).not.toBe(light)
    await press(button)
    await page.getByRole('button', { name: 'Theme: system' }).waitFor()
    await expect.poll(ground).toBe(light)
  })

  it('shows the chosen theme on a page that the server rendered without the cookie', async ({
    consoleSite,
  }) => {
    await using visitor = await consoleSite.operator('', { colorScheme: 'light' })
    const { page } = visitor
    const ground = () => page.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor)
    const light = await ground()
    await page.addInitScript(() => {
      // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API needs HTTPS
      document.cookie = 'culvert-theme=dark; path=/console'
    })
    await page.goto(`${consoleSite.site.url}/console/spool`)
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
    await expect.poll(ground).not.toBe(light)
  })

  /** Creates one of each entry that can be opened: a receipt, an envelope in the inbox, and a spool entry that is pending until disposal. */
  async function openings(consoleSite: ConsoleSite) {
    await consoleSite.send(captureFor(consoleSite.sentry.dsn(), 'browser-11.12.0-error-unhandled'))
    await consoleSite.sendMany(1, consoleSite.newError, 200)
    await consoleSite.sentry.away()
    await consoleSite.spoolMany(2, consoleSite.newError)
    await using visitor = await consoleSite.operator('/inbox')
    const { page } = visitor
    const firstLink = async (path: string, link: RegExp) => {
      await page.goto(consoleSite.site.url + path)
      const links = page.locator('main a').filter({ hasText: link })
      await untilListed(links)
      return (await links.first().getAttribute('href')) ?? ''
    }
    const envelope = await firstLink('/console/inbox', /^(?!.*hello world).*Error: /)
    const ofGroup = await firstLink('/console/inbox?search=hello', /hello world/)
    const waiting = await firstLink('/console/spool', /ago|now/)
    await page.goto(`${consoleSite.site.url}/console/live-feed?outcome=spooled`)
    await press(page.getByRole('button', { name: /pending/ }).first())
    await page.getByRole('region', { name: 'Receipt' }).waitFor()
    await page.waitForURL('**/live-feed?*receipt=*')
    const { pathname, search } = new URL(page.url())
    const paths: [path: string, title: RegExp][] = [
      [envelope, /./],
      [ofGroup, /hello world/],
      [waiting, /^Spool entry: error of /],
      [pathname + search, /spooled/],
    ]
    return { paths, [Symbol.asyncDispose]: () => consoleSite.sentry.back() }
  }

  /** Expects no finding on a desktop in either theme, none on a phone in the dark one, that the phone shows the whole width, and targets of 24 px on both. */
  async function expectForAll(page: Page, path: string): Promise<void> {
    await page.evaluate(() => {
      for (const fold of document.querySelectorAll('details')) fold.setAttribute('open', '')
    })
    expect([path, await findingsInBothThemes(page)]).toEqual([path, []])
    expect([path, await smallTargetsOn(page)]).toEqual([path, []])
    await page.setViewportSize(PHONE)
    const width = () => page.evaluate(() => document.documentElement.scrollWidth)
    await expect.poll(width, { message: path }).toBe(PHONE.width) // charts are drawn anew when the width changes
    expect([path, 'phone', await findingsOn(page)]).toEqual([path, 'phone', []])
    expect([path, 'phone', await smallTargetsOn(page)]).toEqual([path, 'phone', []])
  }
})
