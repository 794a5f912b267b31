/** Operator's console in Chromium, for a site with three tunnels. */

import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { clickListed, press, untilHydrated, untilListed } from '../support/browser/console.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { envelopeOf } from '../support/envelopes.ts'
import { perFile } from '../support/lifetime.ts'
import { requires } from '../support/requirements.ts'
import { capture, captureFor } from '../support/sdk-captures.ts'
import { PASSWORD } from '../support/web/operator.ts'

const it = base.extend('replicas', perFile, 3)

describe('The console', requires('chromium', 'nginx'), () => {
  /** Reads the count that the page shows for a result. */
  const shown = async (page: Page, outcome: string) =>
    Number(
      (
        await page
          .getByRole('table', { name: 'Envelopes by result' })
          .getByRole('row', { name: outcome })
          .getByRole('cell')
          .first()
          .textContent()
      )?.replaceAll(',', ''),
    )

  it('shows the same counts by outcome on every page as envelopes were sent', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator()
    const { page } = visitor
    await page.getByRole('status').filter({ hasText: 'live' }).waitFor()
    const replicas = page.getByRole('listitem').filter({ hasText: '3 replicas' })
    await replicas.filter({ hasNotText: 'not responding' }).first().waitFor() // the charts begin with the first response
    await page.locator('summary', { hasText: 'Results' }).click()
    await page.locator('summary', { hasText: 'Items by type' }).click()
    await consoleSite.sendMany(20, consoleSite.newError, 200)
    await consoleSite.sendMany(4, () => consoleSite.newError('https://abc@elsewhere.example/9'), 403)
    await consoleSite.sendMany(3, () => Buffer.from('not an envelope'), 400)
    consoleSite.sentry.answer({ status: 400, body: { detail: 'bad' } })
    await consoleSite.sendMany(2, consoleSite.newError, 400)
    consoleSite.sentry.answer({})
    const sent = { delivered: 20, rejected: 7, declined: 2 }
    expect(await consoleSite.counted()).toEqual({ delivered: 20, rejected: 7, declined: 2 })

    const figures = async () => ({
      delivered: await shown(page, 'delivered directly'),
      rejected: await shown(page, 'rejected'),
      declined: await shown(page, 'declined'),
    })
    await expect.poll(figures).toEqual(sent)
    expect(await shown(page, 'all envelopes')).toBe(29)

    await expect.poll(() => sumsOf(page, 'Envelopes by outcome')).toEqual(sent)
    const badge = 'Rejections 7 rejected or lost in the last 15 minutes'
    await page.getByRole('link', { name: badge, exact: true }).waitFor()
    const types = page.getByRole('table', { name: 'Items by type' })
    await types.getByRole('row', { name: /^event .* 22$/ }).waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: /^Sentry127\.0\.0\.1:\d+$/ })
      .waitFor()

    await page.goto(`${consoleSite.site.url}/console/projects`)
    const table = page.getByRole('table', { name: /^Envelopes of .* by category and outcome$/ })
    const countsOf = async (name: RegExp) => {
      const cells = await table.getByRole('row', { name }).getByRole('cell').allInnerTexts()
      return cells.map((cell) => Number(/^\d+/.exec(cell)?.[0]))
    }
    await expect.poll(() => countsOf(/^error /)).toEqual([20, 2])

    await page.goto(`${consoleSite.site.url}/console/rejections`)
    const many = async (reason: string) =>
      page.getByRole('listitem').filter({ hasText: reason }).locator('h2 + span').textContent()
    await expect.poll(() => many('dsn-unknown')).toBe('4 envelopes')
    await expect.poll(() => many('not-an-envelope')).toBe('3 envelopes')
    await expect.poll(() => many('no reason given')).toBe('2 envelopes')

    await page.goto(`${consoleSite.site.url}/console/replicas`)
    const cards = page.getByRole('main').getByRole('listitem')
    const factsOf = async (name: string) =>
      (await cards.getByText(name, { exact: true }).locator('+ dd').allTextContents()).map((text) =>
        text.trim(),
      )
    const received = async () => {
      const counts = (await factsOf('Envelopes')).map((text) => Number(/^\d+/.exec(text)?.[0]))
      return counts.reduce((sum, its) => sum + its, 0)
    }
    await expect.poll(received).toBe(29)
    await expect.poll(() => factsOf('In flight')).toEqual(['0', '0', '0'])
    await expect
      .poll(() => factsOf('CPU'))
      .toEqual(Array(3).fill(expect.stringMatching(/^[<\d.]+ % of a core$/)))
    await expect.poll(() => factsOf('Memory')).toEqual(Array(3).fill(expect.stringMatching(/^[\d.]+ MB$/)))
    await expect
      .poll(() => factsOf('Event-loop delay'))
      .toEqual(Array(3).fill(expect.stringMatching(/^p99 [\d.]+ (ms|s)$/)))
  })

  it('shows next step and setting for each rejection, and the snippet of each project', async ({
    consoleSite,
  }) => {
    await using visitor = await consoleSite.operator('/rejections')
    const { page } = visitor
    const unknown = page.getByRole('listitem').filter({ hasText: 'dsn-unknown' })
    await unknown.getByText('Add it to SENTRY_DSN').waitFor()
    await unknown.getByText('SENTRY_DSN', { exact: true }).waitFor()
    await unknown.getByText('Last rejected request').click()
    await unknown.getByText(/^POST \/monitoring.*\ncontent-length: \d+/s).waitFor()
    const settings = unknown.locator('dl').first()
    expect(await settings.getByRole('term').allTextContents()).toEqual(['SENTRY_DSN'])
    expect(await settings.getByRole('definition').allTextContents()).toEqual([consoleSite.sentry.dsn()])
    const example = unknown.locator('dl').last()
    expect(await example.getByRole('term').allTextContents()).toEqual([
      'Host of the DSN',
      'Project of the DSN',
    ])
    expect(await example.getByRole('definition').allTextContents()).toEqual(['elsewhere.example', '9'])
    await unknown
      .getByText(`SENTRY_DSN=${consoleSite.sentry.dsn()},https://abc@elsewhere.example/9`)
      .waitFor()
    await page.getByRole('link', { name: 'Projects' }).click()
    await page.getByText(`dsn: '${consoleSite.sentry.dsn()}'`).waitFor()
    await page.getByText("tunnel: '/monitoring?p=456'").waitFor()
    await page.getByText('<script src="/monitoring/sdk.js?p=456" crossorigin></script>').waitFor()
  })

  it('renders an event of a real SDK, and a feedback with its screenshot', async ({ consoleSite }) => {
    await consoleSite.send(captureFor(consoleSite.sentry.dsn(), 'browser-11.12.0-error-unhandled'))
    await consoleSite.send(captureFor(consoleSite.sentry.dsn(), 'browser-11.12.0-feedback-attach'))
    await using visitor = await consoleSite.operator('/inbox')
    const { page } = visitor
    const thrown = eventIn('browser-11.12.0-error-unhandled')
    const [{ type, value }] = thrown.exception.values
    const error = page.getByRole('link', { name: new RegExp(`${type}: `) })
    await clickListed(error)
    await page.getByRole('heading', { level: 1, name: value }).waitFor()
    await page
      .getByRole('list', { name: 'Stack trace, most recent call first' })
      .getByRole('listitem')
      .first()
      .waitFor()
    await page.getByRole('region', { name: 'Details' }).waitFor()
    await page.goto(`${consoleSite.site.url}/console/inbox?type=feedback`)
    const written = eventIn('browser-11.12.0-feedback-attach').contexts.feedback.message
    await clickListed(page.getByRole('link', { name: written }))
    await page.getByRole('region', { name: 'Feedback' }).getByText(written).waitFor()
    await page.getByRole('region', { name: 'Attachments' }).waitFor()
    await page.goto(`${consoleSite.site.url}/console/projects`)
    for (const name of ['sentry.javascript.browser/11.12.0', 'shop@1.0.0'])
      await page.getByText(name).first().waitFor()
  })

  it('does not run scripts in payloads, shows only valid images, and deletes after a confirmation', async ({
    consoleSite,
  }) => {
    const evil = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
    const event = JSON.stringify({
      exception: {
        values: [
          { type: evil, value: evil, stacktrace: { frames: [{ filename: 'javascript:1', function: evil }] } },
        ],
      },
      breadcrumbs: [{ message: evil, timestamp: 'no time' }, null, 7],
      tags: { [evil]: evil },
      user: { id: evil },
      request: { url: 'javascript:alert(1)' },
      spans: 'none',
    })
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=1"></svg>`
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    )
    await consoleSite.send(
      envelopeOf({ dsn: consoleSite.sentry.dsn(), event_id: randomUUID().replaceAll('-', '') }, [
        { header: { type: 'event', length: Buffer.byteLength(event) }, payload: event },
        {
          header: {
            type: 'attachment',
            length: svg.length,
            filename: '../"x.svg',
            content_type: 'image/svg+xml',
          },
          payload: svg,
        },
        { header: { type: 'attachment', length: png.length, filename: 'shot.png' }, payload: png },
      ]),
    )
    await using visitor = await consoleSite.operator('/inbox')
    const { page } = visitor
    const named = page.getByRole('link', { name: /onerror/ })
    await untilListed(named)
    await named.first().click()
    await page.getByRole('heading', { level: 1, name: /onerror/ }).waitFor()
    await expect.poll(() => page.title()).toMatch(/onerror.* · Inbox · Console · Culvert$/)
    const pictures = page.getByRole('region', { name: 'Attachments' }).getByRole('img')
    await expect.poll(() => pictures.count()).toBe(1)
    await pictures.first().scrollIntoViewIfNeeded()
    const widthOf = (image: unknown) => (image as { naturalWidth: number }).naturalWidth
    await expect.poll(() => pictures.first().evaluate(widthOf)).toBe(1)
    for (const item of ['1', '1?show', '2']) {
      const { headers } = await page.evaluate(
        async (url) => {
          const response = await fetch(url)
          await response.bytes()
          return { headers: Object.fromEntries(response.headers) }
        },
        `${page.url().split('?')[0]}/items/${item}`,
      )
      expect(headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'content-disposition': expect.stringMatching(/^attachment; filename="[\w.-]+"$/),
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox",
      })
    }
    const [url = ''] = page.url().split('?')
    const saved = page.waitForEvent('download')
    await page.goto(`${url}/items/1?show`).catch(() => {}) // the link does not navigate: it downloads
    expect((await saved).suggestedFilename()).toBe('_x.svg')
    visitor.allowTrouble(/Content Security Policy directive 'default-src 'none''/) // Chromium’s own style for an image is blocked too
    const picture = await page.goto(`${url}/items/2?show`)
    expect(picture?.headers()['content-type']).toBe('image/png')
    expect(await page.evaluate(() => self.origin)).toBe('null') // and therefore without cookies
    await page.goto(url)
    await press(page.getByRole('button', { name: 'Delete' }))
    await press(page.getByRole('button', { name: 'Yes, delete' }))
    await page.getByText('The envelope was deleted.').waitFor()
    visitor.expectTrouble(/404/)
    expect((await page.goto(url))?.status()).toBe(404)
  })

  it.for(['America/New_York', 'Asia/Kolkata'])(
    'shows times in the time zone of the browser, in %s',
    async (timeZone, { consoleSite }) => {
      await using visitor = await consoleSite.operator('', { timezoneId: timeZone })
      await visitor.page.locator('summary', { hasText: 'Recent changes' }).click()
      const time = visitor.page.getByRole('list', { name: 'Changes, newest first' }).locator('time').first()
      const shown = async () => ({
        text: await time.textContent(),
        time: new Date((await time.getAttribute('datetime')) ?? 0),
      })
      await expect
        .poll(async () => {
          const { text, time: at } = await shown()
          return text === at.toLocaleTimeString('en-GB', { hour12: false, timeZone })
        })
        .toBe(true)
      await visitor.page
        .getByRole('contentinfo')
        .getByText(/^Times in \S+ \(GMT[+-]\d/)
        .waitFor()
    },
  )

  it('redirects to the sign-in page after sign-out, and to the requested page after sign-in', async ({
    consoleSite,
  }) => {
    await using visitor = await consoleSite.operator('/replicas')
    const { page } = visitor
    await page.getByText('responding', { exact: true }).first().waitFor()
    const tab = await page.context().newPage()
    await tab.goto(`${consoleSite.site.url}/console/docs`)
    await untilHydrated(tab.getByRole('button', { name: 'Sign out' }))
    await press(page.getByRole('button', { name: 'Sign out' }))
    await page.waitForURL('**/console/sign-in')
    await tab.waitForURL('**/console/sign-in?to=%2Fconsole%2Fdocs')
    await page.goto(`${consoleSite.site.url}/console/live-feed`)
    await page.waitForURL('**/console/sign-in?to=%2Fconsole%2Flive-feed')
    await page.getByLabel('Operator password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL('**/console/live-feed')
    await page.getByRole('navigation', { name: 'Console' }).waitFor()
  })

  /** Returns the sum of a chart's figures over all minutes. */
  async function sumsOf(page: Page, title: string): Promise<Record<string, number>> {
    const drawn = page.getByRole('figure').filter({ hasText: title })
    const minutes = drawn.getByRole('table', { name: `${title}, by minute` })
    if ((await minutes.count()) === 0) await drawn.getByText('Show as table').click()
    const rows = await minutes.getByRole('row').all()
    const [names = [], ...figures] = await Promise.all(
      rows.map(async (row) => (await row.locator('th, td').allTextContents()).slice(1)),
    )
    const sumOf = (column: number) => figures.reduce((sum, cells) => sum + Number(cells[column]), 0)
    return Object.fromEntries(names.map((name, column) => [name, sumOf(column)]))
  }

  function eventIn(name: string) {
    return JSON.parse(capture(name).body.toString('utf8').split('\n')[2] ?? '')
  }
})
