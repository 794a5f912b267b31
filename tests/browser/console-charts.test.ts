/** Charts of the console in Chromium: drawing, accessible text and table of values. */

import type { Locator, Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import type { ConsoleSite } from '../support/browser/console.ts'
import { it } from '../support/browser/fixtures.ts'
import { requires } from '../support/requirements.ts'

type Past = { after: number; outcomes: Record<string, number> }[]

describe('A chart of the console', requires('chromium', 'nginx'), () => {
  /** Shows the overview with given samples: outcomes by seconds after the first sample. */
  async function tell(consoleSite: ConsoleSite, page: Page, past: Past): Promise<Locator> {
    const first = await page.evaluate(async () => {
      const response = await fetch('/console/live')
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      let text = ''
      while (reader && !text.includes('\n\n')) text += (await reader.read()).value
      await reader?.cancel()
      return JSON.parse(text.slice('data: '.length))
    })
    const { isGap: _, ...sample } = first.overview.point // web may have asked before the tunnel responded
    const start = Math.floor(Date.now() / 60_000) * 60_000 - 120_000
    const history = past.map(({ after, outcomes }) => ({
      ...sample,
      time: start + after * 1000,
      outcomes,
    }))
    const overview = { ...first.overview, point: history.at(-1) }
    const body = `data: ${JSON.stringify({ overview, history })}\n\n`
    await page.route('**/console/live', (route) => route.fulfill({ contentType: 'text/event-stream', body }))
    await page.goto(`${consoleSite.site.url}/console`)
    const chart = page.getByRole('figure').filter({ hasText: 'Envelopes by outcome' })
    await expect
      .poll(() => chart.getByRole('slider').getAttribute('aria-valuemax'))
      .toBe(`${past.length - 1}`)
    return chart
  }

  /** Returns the number of pixels of a drawing that have the colour of a class. */
  function pixelsOf(chart: Locator, name: string): Promise<number> {
    return chart.evaluate((element, className) => {
      const probe = element.appendChild(document.createElement('span'))
      probe.className = className
      const canvas = element.querySelector('canvas')
      const small = document.createElement('canvas').getContext('2d')
      if (!canvas || !small) return 0
      small.fillStyle = getComputedStyle(probe).color
      probe.remove()
      small.fillRect(0, 0, 1, 1)
      const [red, green, blue] = small.getImageData(0, 0, 1, 1).data
      const { data } = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height) ?? {
        data: [],
      }
      let many = 0
      for (let at = 0; at < data.length; at += 4)
        if (data[at] === red && data[at + 1] === green && data[at + 2] === blue && data[at + 3] === 255)
          many++
      return many
    }, name)
  }

  it('shows a single sample, and its values with their unit', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator()
    const chart = await tell(consoleSite, visitor.page, [
      { after: 0, outcomes: { delivered: 100 } },
      { after: 10, outcomes: { delivered: 130 } },
    ])
    await chart.getByRole('listitem').filter({ hasText: 'delivered 30, 30 in all' }).waitFor()
    await expect.poll(() => pixelsOf(chart, 'text-good')).toBeGreaterThan(4)
    expect(await pixelsOf(chart, 'text-bad')).toBe(0)
  })

  it('says that no envelopes arrived, on an axis without repeated zeros', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator()
    const chart = await tell(consoleSite, visitor.page, [
      { after: 0, outcomes: { delivered: 100 } },
      { after: 10, outcomes: { delivered: 100 } },
      { after: 20, outcomes: { delivered: 100 } },
    ])
    await chart.getByText('No envelopes in the last 15 minutes.').waitFor()
    await chart.getByRole('listitem').filter({ hasText: 'delivered 0, 0 in all' }).waitFor()
  })

  it('counts envelopes per 10 s, and shows values by arrow keys', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator()
    const { page } = visitor
    const chart = await tell(consoleSite, page, [
      { after: 0, outcomes: { delivered: 0, rejected: 0 } },
      { after: 10, outcomes: { delivered: 40, rejected: 0 } },
      { after: 20, outcomes: { delivered: 100, rejected: 2 } },
    ])
    await chart.getByText('per 10 s').waitFor()
    const lines = () => chart.getByRole('list').getByRole('listitem').allTextContents()
    await expect.poll(lines).toEqual(['delivered 60, 100 in all', 'rejected 2, 2 in all'])
    await chart.getByRole('slider').focus()
    await page.keyboard.press('ArrowLeft')
    await expect.poll(lines).toEqual(['delivered 40, 100 in all', 'rejected 0, 2 in all'])
    await expect
      .poll(() => chart.getByRole('slider').getAttribute('aria-valuetext'))
      .toMatch(/^\d\d:\d\d:10: delivered 40, rejected 0$/)
  })

  it('lists its values by minute', async ({ consoleSite }) => {
    await using visitor = await consoleSite.operator()
    const chart = await tell(consoleSite, visitor.page, [
      { after: 0, outcomes: { delivered: 5, declined: 1 } },
      { after: 30, outcomes: { delivered: 9, declined: 1 } },
      { after: 61, outcomes: { delivered: 1_309, declined: 2 } },
      { after: 110, outcomes: { delivered: 1_310, declined: 2 } },
    ])
    await chart.getByText('Values by minute').click()
    const figures = async () => {
      const rows = await chart.getByRole('row').all()
      const cells = await Promise.all(rows.map((row) => row.locator('th, td').allTextContents()))
      return cells.map((row) => row.slice(1))
    }
    await expect.poll(figures).toEqual([
      ['delivered', 'declined'],
      ['1,301', '1'],
      ['4', '0'],
    ])
  })
})
