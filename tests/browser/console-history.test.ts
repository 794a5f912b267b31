/** Time ranges of the overview in Chromium, and the way from a chart to the live feed. */

import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { Locator, Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { SHARED_TABLES, SharedTables } from '../../tunnel/src/store/sqlite/shared-tables.ts'
import { press } from '../support/browser/console.ts'
import { it } from '../support/browser/fixtures.ts'
import { requires } from '../support/requirements.ts'

const MINUTE = 60_000
const STEP = 10 * MINUTE
const BERLIN = { timezoneId: 'Europe/Berlin' }

/** End of the last full ten minutes, and minutes before it at which a span of ten minutes was counted. */
const END = Math.floor(Date.now() / STEP) * STEP
const SPANS = [300, 290, 280, 120, 110]
const DELIVERED = 1_000

describe('The time ranges of the overview', requires('chromium', 'nginx'), () => {
  it.beforeAll(async ({ consoleSite }) => {
    using db = new DatabaseSync(fileURLToPath(consoleSite.env.SPOOL_URL), { timeout: 10_000 })
    db.exec(SHARED_TABLES)
    const durations = { 0.1: 900, 0.5: 960, 1: DELIVERED, '+Inf': DELIVERED }
    const data = JSON.stringify({
      outcomes: { delivered: DELIVERED },
      durations,
    })
    const row = { replica: 'stopped', data }
    new SharedTables(db).addSnapshots([
      ...SPANS.map((minutes) => ({ ...row, step: STEP, time: END - minutes * MINUTE })),
      { ...row, step: MINUTE, time: Math.floor(Date.now() / MINUTE - 10) * MINUTE },
    ])
    await consoleSite.sendMany(2, consoleSite.newError, 200)
  })

  /** Row of the span that begins so many minutes before `END`. The tunnel adds one of its own at the first full minute. */
  const rowOf = (chart: Locator, minutes: number) => {
    const from = new Date(END - minutes * MINUTE).toISOString().replace('.000Z', 'Z')
    return chart
      .getByRole('row')
      .filter({ has: chart.page().locator(`a[href*="${new URLSearchParams({ from })}"]`) })
  }

  const chartOf = (page: Page, title: string) => page.getByRole('figure').filter({ hasText: title })

  it('are chosen by keyboard, are kept in the URL, and name the time zone', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator('', BERLIN)
    const { page } = visitor
    const ranges = page.getByRole('navigation', { name: 'Time range' })
    await ranges.getByRole('link', { name: '24 h' }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/console?range=24h')
    await page.getByRole('heading', { name: 'Last 24 hours' }).waitFor()
    await expect.poll(() => ranges.locator('[aria-current]').allTextContents()).toEqual(['24 h'])
    await page
      .getByRole('region', { name: 'Last 24 hours' })
      .getByText(/Europe\/Berlin \(GMT\+[12]\)/)
      .waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Last 24 hours' }).waitFor()
  })

  it('show counts and percentiles of a replica that has stopped, and no rows for gaps', async ({
    consoleSite,
  }) => {
    await using visitor = await consoleSite.operator('?range=24h')
    const { page } = visitor
    const outcomes = chartOf(page, 'Envelopes by outcome')
    await outcomes
      .getByRole('listitem')
      .filter({ hasText: /5,00[0-2] in all/ })
      .waitFor()
    const times = chartOf(page, 'Response time')
    await times.getByText('Show as table').click()
    for (const minutes of SPANS) {
      await rowOf(times, minutes).waitFor()
      const cells = () => rowOf(times, minutes).locator('td').allTextContents()
      await expect.poll(async () => (await cells()).slice(-3)).toEqual(['100 ms', '500 ms', '1 s'])
    }
    for (const minutes of [310, 270, 200, 130]) expect(await rowOf(times, minutes).count()).toBe(0)
    await page.locator('summary', { hasText: 'Results' }).getByText('last 24 hours').waitFor()
  })

  it('open the live feed of the span that is dragged over, which says where it begins', async ({
    consoleSite,
  }) => {
    await using visitor = await consoleSite.operator('?range=24h')
    const { page } = visitor
    const chart = chartOf(page, 'Envelopes by outcome')
    await chart.getByRole('listitem').filter({ hasText: 'in all' }).first().waitFor()
    const plot = chart.getByRole('slider')
    await plot.scrollIntoViewIfNeeded()
    const { x = 0, y = 0, width = 0, height = 0 } = (await plot.boundingBox()) ?? {}
    await page.mouse.move(x + width / 2, y + height / 2)
    await page.mouse.down()
    await page.mouse.move(x + (width * 3) / 4, y + height / 2, { steps: 5 })
    await page.mouse.up()
    await page.waitForURL('**/live-feed?from=*')
    const { searchParams } = new URL(page.url())
    const [from, to] = ['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? ''))
    expect(((to ?? 0) - (from ?? 0)) / (24 * 60 * MINUTE)).toBeCloseTo(1 / 4, 1)
    await page.getByText('The feed holds recent envelopes only').waitFor()
    await page.getByText('No envelope matches the filter.').waitFor()
    await press(page.getByRole('button', { name: 'Show all times' }))
    await page.getByText('2 envelopes', { exact: true }).waitFor()
  })

  it('open the live feed of one span by the Enter key, and by its row in the table', async ({
    consoleSite,
  }) => {
    await using visitor = await consoleSite.operator('?range=24h')
    const { page } = visitor
    const chart = chartOf(page, 'Envelopes by outcome')
    await chart.getByText('Show as table').click()
    await rowOf(chart, 110).getByRole('link').waitFor()
    await chart.getByRole('slider').focus()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/live-feed?from=*')
  })

  it('include minutes before web started in the last 15 minutes', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator()
    const outcomes = chartOf(visitor.page, 'Envelopes by outcome')
    await outcomes
      .getByRole('listitem')
      .filter({ hasText: /1,00[0-2] in all/ })
      .waitFor()
  })
})
