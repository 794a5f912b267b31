/** Test of alerts from the console, in Chromium. */

import { describe, expect } from 'vitest'
import { findingsInBothThemes } from '../support/browser/axe.ts'
import { press, startConsole } from '../support/browser/console.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { endWith, perFile } from '../support/lifetime.ts'
import { startUpstream } from '../support/recording-server.ts'
import { requires } from '../support/requirements.ts'

const it = base.extend('alerting', perFile, async ({ chromium }, lifetime) => {
  const started = endWith(lifetime, new AsyncDisposableStack())
  const webhook = started.use(
    await startUpstream('webhook', ({ url }, response) => {
      response.writeHead(url === '/wrong' ? 404 : 200).end()
    }),
  )
  const ALERT_URL = `slack+http://${webhook.address}/hush http://${webhook.address}/wrong`
  const site = started.use(await startConsole(chromium, { settings: { ALERT_URL } }))
  return { site, webhook }
})

describe('The set-up page with destinations of alerts', requires('chromium', 'nginx'), () => {
  it('sends a test, and shows the result of each destination', async ({ alerting: { site, webhook } }) => {
    await using visitor = await site.operator('/setup')
    const { page } = visitor
    const panel = page.getByRole('region', { name: 'Alerts' })
    await panel.getByText(`: Slack (${webhook.address}), Webhook (${webhook.address}).`).waitFor()
    await press(panel.getByRole('button', { name: 'Send a test' }))
    const results = panel.getByRole('listitem')
    await expect
      .poll(() => results.allInnerTexts())
      .toEqual([
        `Slack (${webhook.address}): The test was accepted.`,
        `Webhook (${webhook.address}): The server responded with HTTP 404: copy the URL again, since it is wrong or was revoked.`,
      ])
    expect(webhook.asked.map(({ url }) => url)).toContain('/hush')
    expect(await page.content()).not.toContain('hush')
    expect(await findingsInBothThemes(page)).toEqual([])
    await page.setViewportSize({ width: 390, height: 844 })
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  })
})
