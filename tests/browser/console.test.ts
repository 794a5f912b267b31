/** The operator's console in real Chromium, over a site with three tunnels: every figure is what was sent. */

import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findingsOn } from '../support/browser/axe.ts'
import { type ConsoleSite, startConsole } from '../support/browser/console.ts'
import { envelopeOf } from '../support/envelopes.ts'
import { requires } from '../support/requirements.ts'
import { capture, captureFor } from '../support/sdk-captures.ts'
import { hasItem } from '../support/sentry/received-request.ts'

const SOON = { timeout: 40_000 }
const PAGES = ['', '/live-feed', '/rejections', '/projects', '/spool', '/inbox', '/replicas']

describe('The console', requires('chromium', 'nginx'), () => {
  let desk: ConsoleSite

  beforeAll(async () => {
    desk = await startConsole()
  })

  afterAll(() => desk?.[Symbol.asyncDispose]())

  /** What the page says of an outcome. */
  const told = async (page: Page, outcome: string) =>
    Number(
      (
        await page
          .getByRole('table', { name: 'Envelopes by outcome' })
          .getByRole('row', { name: outcome })
          .getByRole('cell')
          .first()
          .textContent()
      )?.replaceAll(',', ''),
    )

  it('shows figures that are what was sent, by outcome, on every page that has some', async () => {
    await using visitor = await desk.operator()
    const { page } = visitor
    await page.getByRole('status').filter({ hasText: 'live' }).waitFor()
    await desk.sendMany(20, desk.newError, 200)
    await desk.sendMany(4, () => desk.newError('https://abc@elsewhere.example/9'), 403)
    await desk.sendMany(3, () => Buffer.from('not an envelope'), 400)
    desk.sentry.answer({ status: 400, body: { detail: 'bad' } })
    await desk.sendMany(2, desk.newError, 400)
    desk.sentry.answer({})
    const sent = { delivered: 20, rejected: 7, declined: 2 }
    expect(await desk.counted()).toEqual({ delivered: 20, rejected: 7, declined: 2 })

    const figures = async () => ({
      delivered: await told(page, 'delivered'),
      rejected: await told(page, 'rejected'),
      declined: await told(page, 'declined'),
    })
    await expect.poll(figures, SOON).toEqual(sent)
    expect(await told(page, 'all envelopes')).toBe(29)
    await page.getByRole('listitem').filter({ hasText: '3 replicas' }).first().waitFor()

    await expect.poll(() => sumsOf(page, 'Envelopes by outcome'), SOON).toEqual(sent)
    await expect
      .poll(() => sumsOf(page, 'Envelopes by category'), SOON)
      .toEqual({ error: 22, 'no category': 7 }) // an envelope of an unknown project is rejected before its items are read
    const types = page.getByRole('table', { name: 'Items by type' })
    await types.getByRole('row', { name: /^event .* 22$/ }).waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: /^Sentry127\.0\.0\.1:\d+$/ })
      .waitFor()

    await page.goto(`${desk.site.url}/console/projects`)
    const table = page.getByRole('table', { name: /^Envelopes of .* by category and outcome$/ })
    const cells = await table
      .getByRole('row', { name: /^error / })
      .getByRole('cell')
      .allInnerTexts()
    expect(cells.map((cell) => Number(/^\d+/.exec(cell)?.[0]))).toEqual([20, 2])

    await page.goto(`${desk.site.url}/console/rejections`)
    const many = async (reason: string) =>
      page.getByRole('listitem').filter({ hasText: reason }).locator('h2 + span').textContent()
    expect([await many('dsn-unknown'), await many('not-an-envelope'), await many('no reason given')]).toEqual(
      ['4 envelopes', '3 envelopes', '2 envelopes'],
    )

    await page.goto(`${desk.site.url}/console/replicas`)
    const cards = page.getByRole('main').getByRole('listitem')
    const factsOf = async (name: string) =>
      (await cards.getByText(name, { exact: true }).locator('+ dd').allTextContents()).map((text) =>
        text.trim(),
      )
    const envelopes = (await factsOf('Envelopes')).map((text) => Number(/^\d+/.exec(text)?.[0]))
    expect(envelopes.reduce((sum, its) => sum + its, 0)).toBe(29)
    expect(await factsOf('In flight')).toEqual(['0', '0', '0'])
    await expect
      .poll(() => factsOf('CPU'), SOON)
      .toEqual(Array(3).fill(expect.stringMatching(/^[<\d.]+ % of a core$/)))
    expect(await factsOf('Memory')).toEqual(Array(3).fill(expect.stringMatching(/^[\d.]+ MB$/)))
    expect(await factsOf('Event-loop delay')).toEqual(
      Array(3).fill(expect.stringMatching(/^p99 [\d.]+ (ms|s)$/)),
    )
  })

  it('explains each rejection with what to do and which setting, and gives each project its snippet', async () => {
    await using visitor = await desk.operator('/rejections')
    const { page } = visitor
    const unknown = page.getByRole('listitem').filter({ hasText: 'dsn-unknown' })
    await unknown.getByText('Add it to SENTRY_DSN').waitFor()
    await unknown.getByText('SENTRY_DSN', { exact: true }).waitFor()
    await unknown.getByText('Last rejected request').click()
    await unknown.getByText(/^POST \/monitoring.*\ncontent-length: \d+/s).waitFor()
    const settings = unknown.locator('dl')
    expect(await settings.getByRole('term').allTextContents()).toEqual(['SENTRY_DSN'])
    expect(await settings.getByRole('definition').allTextContents()).toEqual([desk.sentry.dsn()])
    await page.getByRole('link', { name: 'Projects' }).click()
    await page.getByText('SDK configuration').click()
    await page.getByText(`dsn: '${desk.sentry.dsn()}'`).waitFor()
    await page.getByText("tunnel: '/monitoring?p=456'").waitFor()
  })

  it('shows what waits while Sentry is away, once though three tunnels share it, and acts on it when confirmed', async () => {
    await desk.sentry.away()
    await desk.sendMany(4, desk.newError, 202)
    await using visitor = await desk.operator('/spool')
    const { page } = visitor
    const depth = page.getByRole('region', { name: 'Pending' })
    await expect
      .poll(async () => {
        await page.reload() // what is shown may be a moment old
        return (await depth.getByRole('definition').first().textContent())?.trim()
      }, SOON)
      .toBe('4')
    const rows = page.getByRole('region', { name: 'Spool entries' }).getByRole('row')
    expect(await rows.count()).toBe(5)

    await rows.nth(1).getByRole('link').click()
    await page.getByText('"type":"event"').waitFor()
    await page.getByRole('button', { name: 'Purge' }).click()
    await page.getByRole('button', { name: 'No', exact: true }).click()
    await page.getByRole('button', { name: 'Purge' }).click()
    await page.getByRole('button', { name: 'Yes, purge' }).click()
    await page.getByText('1 was purged.').waitFor()
    expect(await rows.count()).toBe(4)
    const acts = () => desk.site.tunnels.flatMap(({ logs }) => logs.flatMap(({ audit }) => audit ?? []))
    await expect
      .poll(acts, SOON)
      .toContainEqual(expect.objectContaining({ action: 'spool-purge', envelopes: 1, operator: '127.0.0.1' }))

    await page.getByRole('button', { name: 'Pause all' }).click()
    await page.getByRole('button', { name: 'Yes, pause all' }).click()
    await page.getByText('Delivery is paused.').waitFor()
    await desk.sentry.back()
    await page.getByRole('button', { name: 'Resume all' }).click()
    await page.getByRole('button', { name: 'Yes, resume all' }).click()
    await page.getByText(/^Delivery is resumed\./).waitFor()
    await page.goto(`${desk.site.url}/console`)
    const ends = page.getByRole('table', { name: 'Spooled envelopes by final outcome' })
    await ends.getByRole('row', { name: 'delivered 3' }).waitFor({ timeout: 60_000 })
    await ends.getByRole('row', { name: 'purged 1' }).waitFor()

    await page.goto(`${desk.site.url}/console/rejections`)
    const lost = page.getByRole('listitem').filter({ hasText: 'after spooling' })
    expect(await lost.locator('h2 + span').textContent()).toBe('1 envelope')
    await lost.getByText(/^First .+ ago|just now, last .+(ago|just now)\.$/).waitFor()
    await page.goto(`${desk.site.url}/console/live-feed?outcome=purged`)
    await page.getByText(/^1 envelope of/).waitFor()
    await page.getByRole('button', { name: /purged.*spooled for/ }).click()
    await page
      .getByRole('region', { name: 'Receipt' })
      .getByText(/An operator purged it/)
      .waitFor()
    const timings = page.getByRole('list', { name: 'Timings' }).getByRole('listitem')
    expect(await timings.allTextContents()).toEqual([
      expect.stringMatching(/received$/),
      expect.stringMatching(/until accepted and forwarded$/),
      expect.stringMatching(/without a response from Sentry$/),
      expect.stringMatching(/until spooled, synced to disk$/),
      expect.stringMatching(/in total$/),
    ])
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
      .getByRole('list', { name: 'Stack trace, most recent call first' })
      .getByRole('listitem')
      .first()
      .waitFor()
    await page.getByRole('region', { name: 'Details' }).waitFor()
    await page.goBack()
    const written = eventIn('browser-11.12.0-feedback-attach').contexts.feedback.message
    await page.getByRole('link', { name: written }).first().click()
    await page.getByRole('region', { name: 'Feedback' }).getByText(written).waitFor()
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
    const spans = page.getByRole('list', { name: 'Spans by start time' }).getByRole('listitem')
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
    const saved = page.waitForEvent('download')
    await page.goto(`${url}/items/1?show`).catch(() => {}) // it goes nowhere: what is there is saved
    expect((await saved).suggestedFilename()).toBe('_x.svg')
    visitor.allowTrouble(/Content Security Policy directive 'default-src 'none''/) // Chromium’s own style for a picture is kept out too
    const picture = await page.goto(`${url}/items/2?show`)
    expect(picture?.headers()['content-type']).toBe('image/png')
    expect(await page.evaluate(() => self.origin)).toBe('null') // and so without a cookie, whatever it were
    await page.goto(url)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Yes, delete' }).click()
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
        if (path === '/live-feed') await page.getByText(/^\d+ envelopes$/).waitFor()
        await expectForAll(page, path)
      }
    },
  )

  it('shuts nobody out of what is opened, nor of the sign-in, in either theme', async () => {
    await using opened = await openings()
    for (const colorScheme of ['light', 'dark'] as const) {
      await using visitor = await desk.operator('', { colorScheme })
      const { page } = visitor
      for (const [path, title] of opened.paths) {
        await page.setViewportSize({ width: 1280, height: 900 })
        await page.goto(desk.site.url + path)
        await page.getByRole('heading', { name: title }).first().waitFor()
        await expectForAll(page, path)
      }
      await page.getByRole('button', { name: 'Sign out' }).first().click()
      await page.waitForURL('**/console/sign-in')
      await expectForAll(page, '/console/sign-in')
    }
  })

  /** One of each that can be opened: a receipt, an envelope of the inbox, and one that waits for as long as this is not disposed. */
  async function openings() {
    await desk.send(captureFor(desk.sentry.dsn(), 'browser-11.12.0-error-unhandled'))
    await desk.sentry.away()
    await desk.sendMany(1, desk.newError, 202)
    await using visitor = await desk.operator('/inbox')
    const { page } = visitor
    const firstLink = async (path: string, link: RegExp) => {
      await page.goto(desk.site.url + path)
      const links = page.locator('main a').filter({ hasText: link })
      return (await links.first().getAttribute('href')) ?? ''
    }
    const envelope = await firstLink('/console/inbox', /^error/)
    const waiting = await firstLink('/console/spool', /ago|now/)
    await page.goto(`${desk.site.url}/console/live-feed?outcome=spooled`)
    await page
      .getByRole('button', { name: /spooled/ })
      .first()
      .click()
    await page.getByRole('region', { name: 'Receipt' }).waitFor()
    const { pathname, search } = new URL(page.url())
    const paths: [path: string, title: RegExp][] = [
      [envelope, /./],
      [waiting, /^Spool entry: error of /],
      [pathname + search, /spooled/],
    ]
    return { paths, [Symbol.asyncDispose]: () => desk.sentry.back() }
  }

  /** What axe finds on a desktop and on a phone is nothing, and the phone shows all of its breadth. */
  async function expectForAll(page: Page, path: string): Promise<void> {
    expect([path, await findingsOn(page)]).toEqual([path, []])
    await page.setViewportSize({ width: 390, height: 844 })
    const width = () => page.evaluate(() => document.documentElement.scrollWidth)
    await expect.poll(width, { ...SOON, message: path }).toBe(390) // charts are drawn anew when the width changes
    expect([path, 'phone', await findingsOn(page)]).toEqual([path, 'phone', []])
  }

  it.each(['America/New_York', 'Asia/Kolkata'])(
    'tells times as the clock of its reader does, in %s',
    async (timeZone) => {
      await using visitor = await desk.operator('', { timezoneId: timeZone })
      const time = visitor.page.getByRole('list', { name: 'Changes, newest first' }).locator('time').first()
      const told = async () => ({
        text: await time.textContent(),
        time: new Date((await time.getAttribute('datetime')) ?? 0),
      })
      await expect.poll(async () => (await told()).text, SOON).toMatch(/\d/)
      const { text, time: at } = await told()
      expect(text).toBe(at.toLocaleTimeString('en-GB', { hour12: false, timeZone }))
    },
  )

  it('does each thing to what waits when it is confirmed, and the tunnel’s log says so', async () => {
    await desk.sentry.away()
    await desk.sendMany(3, desk.newError, 202)
    await using visitor = await desk.operator('/spool')
    const { page } = visitor
    const lane = page.getByRole('region', { name: 'By project' })
    await expect
      .poll(async () => {
        await page.reload() // what is shown may be a moment old
        return lane.getByText(/, error$/).count()
      }, SOON)
      .toBe(1)
    const download = await page.evaluate(
      async (path) => {
        const response = await fetch(path.replace('?', '/envelope?'))
        return { text: await response.text(), headers: Object.fromEntries(response.headers) }
      },
      (await page.locator('main table a').first().getAttribute('href')) ?? '',
    )
    expect(download.text).toContain('hello world')
    expect(download.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': expect.stringMatching(/^attachment; filename="[\w-]+\.envelope"$/),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, no-store',
    })

    const act = async (label: string, within: Page | typeof lane, done: RegExp) => {
      await within.getByRole('button', { name: label, exact: true }).click()
      await within.getByRole('button', { name: `Yes, ${label.toLowerCase()}`, exact: true }).click()
      await page.getByRole('status').filter({ hasText: done }).waitFor()
    }
    await act('Pause', lane, /^Delivery is paused\./)
    await act('Resume', lane, /^Delivery is resumed\./)
    await act('Retry', lane, /^\d will be retried now\.$/)
    await act('Retry all now', page, /^\d will be retried now\.$/)
    await page.locator('main table a').first().click()
    await act('Retry now', page, /^\d will be retried now\.$/)
    await act('Purge', lane, /(was|were) purged\.$/)
    expect(await lane.getByText(/, error$/).count()).toBe(0)
    await desk.sendMany(2, desk.newError, 202)
    await expect
      .poll(async () => {
        await page.reload()
        return page.getByRole('button', { name: 'Purge all' }).count()
      }, SOON)
      .toBe(1)
    await act('Purge all', page, /^2 were purged\.$/)
    await desk.sentry.back()
    const acts = () =>
      desk.site.tunnels.flatMap(({ logs }) =>
        logs.flatMap((line) => (line.audit as { action?: string })?.action ?? []),
      )
    await expect
      .poll(acts, SOON)
      .toEqual(expect.arrayContaining(['spool-pause', 'spool-resume', 'spool-retry', 'spool-purge']))
  })

  it('shows on the overview what Sentry holds back and for how long, and who is not asked', async () => {
    const limit429 = { status: 429, headers: { 'x-sentry-rate-limits': '600:replay:key' } }
    desk.sentry.answer((received) => (hasItem('replay_event')(received) ? limit429 : {}))
    const replay = captureFor(desk.sentry.dsn(), 'browser-11.12.0-replay-2')
    await expect.poll(async () => (await desk.send(replay)).status, SOON).toBe(429) // 202 as long as Sentry is not asked
    await using visitor = await desk.operator()
    const { page } = visitor
    const held = page.getByRole('region', { name: 'Rate limits and circuit breakers' })
    const limit = held.getByRole('listitem').filter({ hasText: 'rate-limited' })
    await limit.filter({ hasText: /replay of 127\.0\.0\.1:\d+\/\d+, ends in \d+ min/ }).waitFor(SOON)
    await page.getByRole('link', { name: '1 category rate-limited' }).waitFor()

    await desk.sentry.away()
    await desk.sendMany(18, desk.newError, 202)
    const upstream = held.getByRole('listitem').filter({ hasText: 'breaker open' })
    await upstream.filter({ hasText: /on [1-3] of 3 replicas, since .+; next attempt/ }).waitFor(SOON)
    await page
      .getByRole('listitem')
      .filter({ hasText: 'circuit breaker open: it fails or is slow' })
      .first()
      .waitFor()
    await desk.sentry.back()
  })

  it('leads who signs out back to the sign-in page, and keeps them out', async () => {
    await using visitor = await desk.operator('/replicas')
    const { page } = visitor
    await page.getByText('responding', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL('**/console/sign-in')
    await page.goto(`${desk.site.url}/console/live-feed`)
    await page.waitForURL('**/console/sign-in?to=%2Fconsole%2Ffeed')
  })

  it('goes on counting what a killed replica has carried, and says that it does not answer', async () => {
    await using other = await startConsole()
    await other.sendMany(9, other.newError, 200)
    await using visitor = await other.operator()
    const { page } = visitor
    await page.getByRole('listitem').filter({ hasText: '3 replicas' }).first().waitFor()
    await expect.poll(() => told(page, 'delivered'), SOON).toBe(9)
    await other.site.tunnels[2]?.kill()
    await page.getByText(/does not respond; its last known counts are shown/).waitFor()
    expect(await told(page, 'delivered')).toBe(9)
    await other.sendMany(5, other.newError, 200)
    await expect.poll(() => told(page, 'delivered'), SOON).toBe(14)
    for (const tunnel of other.site.tunnels.slice(0, 2)) await tunnel.kill()
    await page.getByText('3 replicas do not respond; their last known counts are shown').waitFor(SOON)
    expect(await told(page, 'delivered')).toBe(14)
    expect(await page.getByText('No SENTRY_DSN is set.').count()).toBe(0) // nobody says so
  }, 300_000)

  /** What a chart's figures, minute by minute, add up to. */
  async function sumsOf(page: Page, title: string): Promise<Record<string, number>> {
    const drawn = page.getByRole('figure').filter({ hasText: title })
    const minutes = drawn.getByRole('table', { name: `${title}, by minute` })
    if ((await minutes.count()) === 0) await drawn.getByText('Values by minute').click()
    const rows = await minutes.getByRole('row').all()
    const [names = [], ...figures] = await Promise.all(
      rows.map(async (row) => (await row.locator('th, td').allTextContents()).slice(1)),
    )
    const sumOf = (column: number) => figures.reduce((sum, cells) => sum + Number(cells[column]), 0)
    return Object.fromEntries(names.map((name, column) => [name, sumOf(column)]))
  }

  function itemsIn(name: string) {
    return eventIn(name).items
  }

  function eventIn(name: string) {
    return JSON.parse(capture(name).body.toString('utf8').split('\n')[2] ?? '')
  }
})
