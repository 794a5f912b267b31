/** Charts of the console in Chromium: drawing, accessible text and table of values. */

import type { Locator, Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import type { ConsoleSite } from '../support/browser/console.ts'
import { it } from '../support/browser/fixtures.ts'
import { requires } from '../support/requirements.ts'
import { pointAt } from '../support/web/figures.ts'

const MINUTE = 60_000
const FROM = Date.UTC(2026, 10, 22, 9)

/** Counts of the minutes after `FROM` by outcome; `null` for a minute in which no replica ran. The last one is running. */
type Past = (Record<string, number> | null)[]

describe('A chart of the console', requires('chromium', 'nginx'), () => {
  /** Shows the overview with these figures. */
  async function tell(consoleSite: ConsoleSite, page: Page, past: Past): Promise<Locator> {
    const first = await page.evaluate(async () => {
      const response = await fetch('/console/live')
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      let text = ''
      while (reader && !text.includes('\n\n')) text += (await reader.read()).value
      await reader?.cancel()
      return JSON.parse(text.slice('data: '.length))
    })
    const points = past.flatMap((outcomes, minute) =>
      outcomes ? [pointAt(FROM / MINUTE + minute, { outcomes })] : [],
    )
    const to = FROM + (past.length - 0.5) * MINUTE
    const figures = { from: FROM, to, step: MINUTE, points, pending_before: 0 }
    const body = `data: ${JSON.stringify({ ...first, figures, since: FROM })}\n\n`
    await page.route('**/console/live?*', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body }),
    )
    await page.goto(`${consoleSite.site.url}/console`)
    const chart = page.getByRole('figure').filter({ hasText: 'Envelopes by outcome' })
    if (points.some(({ outcomes }) => Object.keys(outcomes).length > 0))
      await expect
        .poll(() => chart.getByRole('slider').getAttribute('aria-valuemax'))
        .toBe(`${past.length - 1}`)
    return chart
  }

  it('shows a single count, and its value with its unit', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator()
    const chart = await tell(consoleSite, visitor.page, [null, { delivered: 30 }])
    await chart.getByText('per minute').waitFor()
    await chart.getByRole('listitem').filter({ hasText: 'delivered 30, 30 in all' }).waitFor()
    const lineOf = (name: string) => chart.getByRole('slider').locator(`path.${name}`)
    await expect.poll(async () => (await lineOf('text-good').boundingBox())?.width).toBeGreaterThan(100)
    expect(await lineOf('text-bad').count()).toBe(0)
  })

  it('says that no envelopes arrived, on an axis without repeated zeros', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator()
    const chart = await tell(consoleSite, visitor.page, [{}, {}, {}])
    await chart.getByText('No envelopes in the last 15 minutes.').waitFor()
    await chart.getByRole('listitem').filter({ hasText: 'delivered 0, 0 in all' }).waitFor()
    expect(await chart.getByRole('slider').count()).toBe(0)
  })

  it('shows values by arrow keys, and a minute in which no replica ran as a gap', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator('', { timezoneId: 'UTC' })
    const { page } = visitor
    const chart = await tell(consoleSite, page, [
      ...[{ delivered: 40 }, null, { delivered: 50 }],
      { delivered: 10, 'rejected:too-large': 1, 'rejected:spool-full': 1 },
    ])
    const lines = () => chart.getByRole('list').getByRole('listitem').allTextContents()
    await expect.poll(lines).toEqual(['delivered 10, 100 in all', 'rejected 1, 1 in all', 'lost 1, 1 in all'])
    await chart.getByRole('slider').focus()
    await page.keyboard.press('ArrowLeft')
    await expect.poll(lines).toEqual(['delivered 50, 100 in all', 'rejected 0, 1 in all', 'lost 0, 1 in all'])
    const spoken = () => chart.getByRole('slider').getAttribute('aria-valuetext')
    await expect.poll(spoken).toBe('09:02: delivered 50, rejected 0, lost 0')
    await page.keyboard.press('ArrowLeft')
    await expect.poll(spoken).toBe('09:01: delivered –, rejected –, lost –')
  })
})
