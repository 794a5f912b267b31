/** Inbox of a site without a Sentry in Chromium: its envelopes of every kind. */

import { describe, expect } from 'vitest'
import { untilListed } from '../support/browser/console.ts'
import { it as base } from '../support/browser/fixtures.ts'
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
    const kinds = page.getByRole('navigation', { name: 'Kinds' })
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

  function itemsIn(name: string) {
    return JSON.parse(capture(name).body.toString('utf8').split('\n')[2] ?? '').items
  }
})
