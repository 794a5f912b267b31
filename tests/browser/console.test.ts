/** The operator's console in real Chromium, over a site with three tunnels: every figure is what was sent. */

import { randomUUID } from 'node:crypto'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { capture, captureFor } from '../helpers/captures.ts'
import { type ConsoleSite, startConsole } from '../helpers/console.ts'
import { envelopeOf } from '../helpers/envelopes.ts'
import { requires } from '../helpers/requirements.ts'

const SOON = { timeout: 40_000 }
const PAGES = ['', '/feed', '/refusals', '/projects', '/spool', '/inbox', '/replicas']

describe('The console', requires('chromium', 'nginx'), () => {
  let desk: ConsoleSite

  beforeAll(async () => {
    desk = await startConsole()
  })

  afterAll(() => desk?.[Symbol.asyncDispose]())

  /** What the page says of a fate. */
  const told = async (page: Page, fate: string) =>
    Number(
      (
        await page
          .getByRole('table', { name: 'Envelopes by fate' })
          .getByRole('row', { name: fate })
          .getByRole('cell')
          .first()
          .textContent()
      )?.replaceAll(',', ''),
    )

  it('shows figures that are what was sent, by fate, and go on being that when a replica is killed', async () => {
    await using visitor = await desk.operator()
    const { page } = visitor
    await page.getByRole('status').filter({ hasText: 'live' }).waitFor()
    await desk.sendMany(20, desk.newError, 200)
    await desk.sendMany(4, () => desk.newError('https://abc@elsewhere.example/9'), 403)
    await desk.sendMany(3, () => Buffer.from('not an envelope'), 400)
    desk.sentry.answer({ status: 400, body: { detail: 'bad' } })
    await desk.sendMany(2, desk.newError, 400)
    desk.sentry.answer({})
    const sent = { delivered: 20, refused: 7, declined: 2 }
    expect(await desk.counted()).toEqual(sent)

    const figures = async () => ({
      delivered: await told(page, 'delivered'),
      refused: await told(page, 'refused'),
      declined: await told(page, 'declined'),
    })
    await expect.poll(figures, SOON).toEqual(sent)
    expect(await told(page, 'all envelopes')).toBe(29)
    await page.getByRole('listitem').filter({ hasText: '3 replicas' }).first().waitFor()

    await desk.site.tunnels[2]?.kill()
    await page.getByText(/does not answer; counted as last heard/).waitFor()
    expect(await figures()).toEqual(sent)
    await desk.sendMany(5, desk.newError, 200)
    await expect.poll(() => told(page, 'delivered'), SOON).toBe(25)

    const drawn = page.getByRole('figure').filter({ hasText: 'Envelopes by fate' })
    await drawn.getByText('Figures, minute by minute').click()
    const minutes = drawn.getByRole('table', { name: 'Envelopes by fate, minute by minute' })
    const sums = async () => {
      const rows = await minutes.getByRole('row').all()
      const [names = [], ...figures] = await Promise.all(
        rows.map(async (row) => (await row.locator('th, td').allTextContents()).slice(1)),
      )
      const sumOf = (column: number) => figures.reduce((sum, cells) => sum + Number(cells[column]), 0)
      return Object.fromEntries(names.map((name, column) => [name, sumOf(column)]))
    }
    await expect.poll(sums, SOON).toEqual({ ...sent, delivered: 25 })
    const types = page.getByRole('table', { name: 'Items by type' })
    await types.getByRole('row', { name: /^event .* 31$/ }).waitFor()
  })

  it('explains each refusal with what to do and which setting, and gives each project its snippet', async () => {
    await using visitor = await desk.operator('/refusals')
    const { page } = visitor
    const unknown = page.getByRole('listitem').filter({ hasText: 'dsn-unknown' })
    await unknown.getByText('Add it to SENTRY_DSN').waitFor()
    await unknown.getByText('SENTRY_DSN', { exact: true }).waitFor()
    await unknown.getByText('The last such request').click()
    await unknown.getByText(/^POST \/monitoring.*\ncontent-length: \d+/s).waitFor()
    const settings = unknown.locator('dl')
    expect(await settings.getByRole('term').allTextContents()).toEqual(['SENTRY_DSN'])
    expect(await settings.getByRole('definition').allTextContents()).toEqual([desk.sentry.dsn()])
    await page.getByRole('link', { name: 'Projects' }).click()
    await page.getByText(`dsn: '${desk.sentry.dsn()}'`).waitFor()
    await page.getByText("tunnel: '/monitoring?p=456'").waitFor()
  })

  it('shows what waits while Sentry is away, once though three tunnels share it, and acts on it when confirmed', async () => {
    await desk.sentry.away()
    await desk.sendMany(4, desk.newError, 202)
    await using visitor = await desk.operator('/spool')
    const { page } = visitor
    const depth = page.getByRole('region', { name: 'What waits' })
    await expect
      .poll(async () => {
        await page.reload() // what is shown may be a moment old
        return (await depth.getByRole('definition').first().textContent())?.trim()
      }, SOON)
      .toBe('4')
    const rows = page.getByRole('region', { name: 'One by one' }).getByRole('row')
    expect(await rows.count()).toBe(5)

    await rows.nth(1).getByRole('link').click()
    await page.getByText('"type":"event"').waitFor()
    await page.getByRole('button', { name: 'Purge' }).click()
    await page.getByRole('button', { name: 'No', exact: true }).click()
    await page.getByRole('button', { name: 'Purge' }).click()
    await page.getByRole('button', { name: 'Yes, purge' }).click()
    await page.getByText('1 were purged.').waitFor()
    expect(await rows.count()).toBe(4)
    const acts = () => desk.site.tunnels.flatMap(({ logs }) => logs.flatMap(({ act }) => act ?? []))
    await expect
      .poll(acts, SOON)
      .toContainEqual(expect.objectContaining({ act: 'spool-purge', envelopes: 1, operator: '127.0.0.1' }))

    await page.getByRole('button', { name: 'Pause all' }).click()
    await page.getByRole('button', { name: 'Yes, pause all' }).click()
    await page.getByText('Delivery is paused.').waitFor()
    await desk.sentry.back()
    await page.getByRole('button', { name: 'Resume all' }).click()
    await page.getByRole('button', { name: 'Yes, resume all' }).click()
    await page.getByText('Delivery goes on.').waitFor()
    await page.goto(`${desk.site.url}/console`)
    const ends = page.getByRole('table', { name: 'Spooled envelopes by end' })
    await ends.getByRole('row', { name: 'delivered 3' }).waitFor({ timeout: 60_000 })
    await ends.getByRole('row', { name: 'purged 1' }).waitFor()

    await page.goto(`${desk.site.url}/console/feed?fate=purged`)
    await page.getByText(/^1 envelope of/).waitFor()
    await page.getByRole('button', { name: /purged.*spooled for/ }).click()
    await page
      .getByRole('region', { name: 'Receipt' })
      .getByText(/An operator took it out/)
      .waitFor()
  })

  it('shows an event of a real SDK as a person reads it, and a feedback with its screenshot', async () => {
    await desk.send(captureFor(desk.sentry.dsn(), 'browser-11.12.0-error-unhandled'))
    await desk.send(captureFor(desk.sentry.dsn(), 'browser-11.12.0-feedback-attach'))
    await using visitor = await desk.operator('/inbox')
    const { page } = visitor
    const thrown = eventIn('browser-11.12.0-error-unhandled')
    const [{ type, value }] = thrown.exception.values
    await page
      .getByRole('link', { name: new RegExp(`${type}: `) })
      .first()
      .click()
    await page.getByRole('heading', { level: 1, name: value }).waitFor()
    await page
      .getByRole('list', { name: 'Stack trace, the last call first' })
      .getByRole('listitem')
      .first()
      .waitFor()
    await page.getByRole('region', { name: 'About it' }).waitFor()
    await page.goBack()
    const written = eventIn('browser-11.12.0-feedback-attach').contexts.feedback.message
    await page.getByRole('link', { name: written }).first().click()
    await page.getByRole('region', { name: 'A visitor wrote' }).getByText(written).waitFor()
    await page.getByRole('region', { name: 'Attachments' }).waitFor()
  })

  it('lists the inbox by kind, and shows spans as a waterfall, and log lines as they came', async () => {
    await desk.send(captureFor(desk.sentry.dsn(), 'browser-11.12.0-pageload-1'))
    await desk.send(captureFor(desk.sentry.dsn(), 'browser-11.12.0-logs'))
    await using visitor = await desk.operator('/inbox')
    const { page } = visitor
    const kinds = page.getByRole('navigation', { name: 'Kinds' })
    const entries = page.getByRole('list', { name: 'Envelopes, newest first' }).getByRole('link')
    await kinds.getByRole('link', { name: 'Spans' }).click()
    await page.waitForURL('**/inbox?type=span')
    expect(await entries.count()).toBe(1)
    await entries.filter({ hasText: 'Pageload, ' }).click()
    const spans = page.getByRole('list', { name: 'Spans, by when they began' }).getByRole('listitem')
    expect(await spans.count()).toBe(itemsIn('browser-11.12.0-pageload-1').length)
    await spans.first().filter({ hasText: 'Pageload' }).waitFor()
    await page.goBack()
    await kinds.getByRole('link', { name: 'Logs' }).click()
    await entries.first().click()
    const [{ level, body }] = itemsIn('browser-11.12.0-logs')
    await page.getByRole('listitem').filter({ hasText: level }).filter({ hasText: body }).first().waitFor()
  })

  it('lets nothing in a payload run, shows no picture that is none, and deletes when confirmed', async () => {
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
    await desk.send(
      envelopeOf({ dsn: desk.sentry.dsn(), event_id: randomUUID().replaceAll('-', '') }, [
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
    await using visitor = await desk.operator('/inbox')
    const { page } = visitor
    await page
      .getByRole('link', { name: /onerror/ })
      .first()
      .click()
    await page.getByRole('heading', { level: 1, name: /onerror/ }).waitFor()
    expect(await page.title()).toBe('Envelope · Console · Culvert')
    const pictures = page.getByRole('region', { name: 'Attachments' }).getByRole('img')
    expect(await pictures.count()).toBe(1)
    await pictures.first().scrollIntoViewIfNeeded()
    const widthOf = (image: unknown) => (image as { naturalWidth: number }).naturalWidth
    await expect.poll(() => pictures.first().evaluate(widthOf), SOON).toBe(1)
    for (const item of ['1', '1?show', '2']) {
      const { headers } = await page.evaluate(async (url) => {
        const response = await fetch(url)
        await response.bytes()
        return { headers: Object.fromEntries(response.headers) }
      }, `${page.url()}/items/${item}`)
      expect(headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'content-disposition': expect.stringMatching(/^attachment; filename="[\w.-]+"$/),
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox",
      })
    }
    const url = page.url()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete it' }).click()
    await page.waitForURL('**/console/inbox')
    visitor.expectTrouble(/404/)
    expect((await page.goto(url))?.status()).toBe(404)
  })

  it.each(['light', 'dark'] as const)(
    'shuts nobody out on any page, by what axe finds, in the %s theme, and fits a phone',
    async (colorScheme) => {
      await using visitor = await desk.operator('', { colorScheme })
      const { page } = visitor
      for (const path of PAGES) {
        await page.setViewportSize({ width: 1280, height: 900 })
        await page.goto(`${desk.site.url}/console${path}`)
        if (path === '/feed') await page.getByText(/^\d+ envelopes$/).waitFor()
        const { violations } = await new AxeBuilder({ page }).analyze()
        expect([path, violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)])]).toEqual([
          path,
          [],
        ])
        await page.setViewportSize({ width: 390, height: 844 })
        const width = () => page.evaluate(() => document.documentElement.scrollWidth)
        await expect.poll(width, { ...SOON, message: path }).toBe(390) // charts are drawn anew when the width changes
      }
    },
  )

  it('leads who signs out back to the sign-in page, and keeps them out', async () => {
    await using visitor = await desk.operator('/replicas')
    const { page } = visitor
    await page.getByText('answers', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL('**/console/sign-in')
    await page.goto(`${desk.site.url}/console/feed`)
    await page.waitForURL('**/console/sign-in?to=%2Fconsole%2Ffeed')
  })

  function itemsIn(name: string) {
    return eventIn(name).items
  }

  function eventIn(name: string) {
    return JSON.parse(capture(name).body.toString('utf8').split('\n')[2] ?? '')
  }
})
