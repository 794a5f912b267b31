/** Inbox of a site without a Sentry in Chromium: its envelopes of every kind. */

import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { clickListed, untilHydrated, untilListed } from '../support/browser/console.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { envelopeOf } from '../support/envelopes.ts'
import { perFile } from '../support/lifetime.ts'
import { requires } from '../support/requirements.ts'
import { capture, captureFor } from '../support/sdk-captures.ts'

const it = base.extend('consoleSettings', perFile, { SENTRY_DSN: '' }) // with one, only errors and feedback are kept

describe('The inbox of the console', requires('chromium', 'nginx'), () => {
  it('lists the inbox by kind, spans as a waterfall, and log lines in order', async ({ consoleSite }) => {
    await consoleSite.send(captureFor(consoleSite.dsn, 'browser-11.12.0-pageload-1'))
    await consoleSite.send(captureFor(consoleSite.dsn, 'browser-11.12.0-logs'))
    await using visitor = await consoleSite.operator('/inbox')
    const { page } = visitor
    const kinds = page.getByRole('navigation', { name: 'Kinds of envelopes' })
    const entries = page.getByRole('list', { name: 'Groups, last updated first' }).getByRole('link')
    const spanKind = kinds.getByRole('link', { name: 'Spans' })
    await untilListed(spanKind)
    await spanKind.click()
    await page.waitForURL('**/inbox?type=span')
    await expect.poll(() => entries.count()).toBe(1)
    await entries.filter({ hasText: 'Pageload, ' }).click()
    const spans = page.getByRole('list', { name: 'Spans by start time' }).getByRole('listitem')
    await expect.poll(() => spans.count()).toBe(itemsIn('browser-11.12.0-pageload-1').length)
    await spans.first().filter({ hasText: 'Pageload' }).waitFor()
    await page.goBack()
    await kinds.getByRole('link', { name: 'Logs' }).click()
    await entries.first().click()
    const [{ level, body }] = itemsIn('browser-11.12.0-logs')
    await page.getByRole('listitem').filter({ hasText: level }).filter({ hasText: body }).first().waitFor()
  })

  it('lists issues first, with their place and counts, and sessions in a tab of their own', async ({
    consoleSite,
  }) => {
    const error = (event_id: string) => {
      const frames = [
        { function: 'payBasket', filename: `${consoleSite.site.url}/assets/pay.js`, in_app: true },
      ]
      const exception = { values: [{ type: 'RangeError', value: 'no stock', stacktrace: { frames } }] }
      return eventOf(consoleSite.dsn, { event_id, exception })
    }
    for (const digit of ['a', 'b', 'c']) await consoleSite.send(error(digit.repeat(32)))
    await consoleSite.send(sessionOf(consoleSite.dsn))
    await using visitor = await consoleSite.operator('/inbox')
    const { page } = visitor
    const tabs = page.getByRole('navigation', { name: 'Kinds of envelopes' })
    expect(await tabs.getByRole('link').first().textContent()).toBe('Issues')
    expect(await tabs.locator('[aria-current]').textContent()).toBe('Issues')
    const rows = page.getByRole('list', { name: 'Groups, last updated first' }).getByRole('link')
    const issue = rows.filter({ hasText: 'RangeError: no stock' })
    await untilListed(issue)
    await expect.poll(() => issue.textContent()).toMatch(/payBasket in \/assets\/pay\.js.*3 envelopes/)
    expect(await rows.filter({ hasText: 'session' }).count()).toBe(0)
    await tabs.getByRole('link', { name: 'Sessions' }).click()
    await page.waitForURL('**/inbox?type=session')
    await rows.filter({ hasText: 'session' }).waitFor()
    expect(await issue.count()).toBe(0)
  })

  it('shows an issue with its occurrences, and leads to older ones and back to its row', async ({
    consoleSite,
  }) => {
    for (const n of [1, 2, 3]) {
      const exception = {
        values: [
          {
            type: 'SyntaxError',
            value: 'bad price',
            stacktrace: { frames: [{ function: 'readPrice', vars: { n } }] },
          },
        ],
      }
      const request = { headers: { 'User-Agent': `Firefox/14${n}.0` } }
      await consoleSite.send(eventOf(consoleSite.dsn, { event_id: `${n}`.repeat(32), exception, request }))
    }
    await using visitor = await consoleSite.operator('/inbox?type=event&search=price')
    const { page } = visitor
    const issue = page.getByRole('link', { name: /SyntaxError: bad price/ })
    await clickListed(issue)
    await page.getByRole('heading', { level: 1, name: /bad price/ }).waitFor()
    const stack = await page.getByRole('list', { name: /^Stack trace/ }).boundingBox()
    const chart = await page.getByRole('figure').boundingBox()
    await page.getByText('Show as table').click()
    await page
      .getByRole('table', { name: /^Occurrences/ })
      .getByRole('cell', { name: '3', exact: true })
      .waitFor()
    expect(stack?.y).toBeLessThan(chart?.y ?? 0)
    const browsers = page.getByRole('table', { name: 'Envelopes by browser' }).getByRole('row')
    expect(await browsers.allInnerTexts()).toHaveLength(4)
    const pages = page.getByRole('navigation', { name: 'Envelopes of this group' })
    await pages.getByText('1 of 3').waitFor()
    await pages.getByRole('link', { name: 'Older' }).click()
    await pages.getByText('2 of 3').waitFor()
    await untilHydrated(page.getByRole('button', { name: 'Sign out' }))
    await page.keyboard.press('j')
    await pages.getByText('3 of 3').waitFor()
    expect(await pages.getByRole('link', { name: 'Older' }).count()).toBe(0)
    await untilHydrated(page.getByRole('button', { name: 'Sign out' }))
    await page.keyboard.press('k')
    await pages.getByText('2 of 3').waitFor()
    await page.getByRole('link', { name: 'Back to the inbox' }).click()
    await page.waitForURL('**/inbox?type=event&search=price#*')
    await page.locator('li:target').filter({ hasText: 'bad price' }).waitFor()
  })

  it('moves the focus along the rows by j and k, and not while one types', async ({ consoleSite }) => {
    for (const value of ['one', 'two'])
      await consoleSite.send(
        eventOf(consoleSite.dsn, {
          event_id: randomUUID().replaceAll('-', ''),
          exception: { values: [{ type: 'Row', value }] },
        }),
      )
    await using visitor = await consoleSite.operator('/inbox?type=event&search=row')
    const { page } = visitor
    const rows = page.getByRole('list', { name: 'Groups, last updated first' }).getByRole('link')
    await untilListed(rows)
    await expect.poll(() => rows.count()).toBe(2)
    await untilHydrated(page.getByRole('button', { name: 'Sign out' }))
    const focused = () => rows.evaluateAll((all) => all.findIndex((each) => each.matches(':focus')))
    await page.keyboard.press('j')
    expect(await focused()).toBe(0)
    await page.keyboard.press('j')
    expect(await focused()).toBe(1)
    await page.keyboard.press('k')
    expect(await focused()).toBe(0)
    const search = page.getByRole('searchbox')
    await search.fill('')
    await search.press('j')
    expect([await search.inputValue(), await focused()]).toEqual(['j', -1])
  })

  it('shows the screenshot of a feedback before its breadcrumbs', async ({ consoleSite }) => {
    const event_id = 'e'.repeat(32)
    const feedback = {
      event_id,
      contexts: { feedback: { message: 'no button' } },
      breadcrumbs: [{ message: 'looked' }],
    }
    await consoleSite.send(
      envelopeOf({ dsn: consoleSite.dsn, event_id }, [
        { header: { type: 'feedback' }, payload: JSON.stringify(feedback) },
        { header: { type: 'attachment', length: 1, filename: 'shot.png' }, payload: 'x' },
      ]),
    )
    await using visitor = await consoleSite.operator('/inbox?type=feedback&search=button')
    const { page } = visitor
    await clickListed(page.getByRole('link', { name: /no button/ }))
    const shot = await page.getByRole('region', { name: 'Attachments' }).boundingBox()
    const crumbs = await page.getByRole('region', { name: 'Breadcrumbs' }).boundingBox()
    expect(shot?.y).toBeLessThan(crumbs?.y ?? 0)
  })

  const eventOf = (dsn: string, event: { event_id: string; exception: object; request?: object }) =>
    envelopeOf({ dsn, event_id: event.event_id }, [
      { header: { type: 'event' }, payload: JSON.stringify(event) },
    ])

  const sessionOf = (dsn: string) => {
    const session = {
      sid: 'a'.repeat(32),
      init: true,
      status: 'ok',
      errors: 0,
      started: '2026-01-01T00:00:00Z',
    }
    return envelopeOf({ dsn }, [{ header: { type: 'session' }, payload: JSON.stringify(session) }])
  }

  function itemsIn(name: string) {
    return JSON.parse(capture(name).body.toString('utf8').split('\n')[2] ?? '').items
  }
})
