/** Simulated outage of Sentry in the error lab: envelopes wait, and arrive in the inbox. */

import type { Route } from 'playwright-core'
import { describe, expect } from 'vitest'
import { it as base } from '../support/browser/fixtures.ts'
import { perFile } from '../support/lifetime.ts'
import { requires } from '../support/requirements.ts'

const it = base.extend('siteOptions', perFile, {}) // inbox mode

describe('The simulated outage', requires('chromium', 'nginx'), () => {
  it('counts the envelopes that wait, and delivers them when it is ended', async ({ site, visitor }) => {
    const { page } = visitor
    visitor.allowTrouble(/failed: GET .*_rsc=.* net::ERR_ABORTED/) // the next pass, when the page is left
    const firstRead = Promise.withResolvers<Route>()
    await page.route(/\/lab\/outage/, (route) => firstRead.resolve(route), { times: 1 })
    await page.goto(`${site.url}/lab`)
    const read = await firstRead.promise
    await page.route(/\/lab\/outage/, async (route) => {
      // begun for longer than the 30 s of the button, on a busy machine
      if (route.request().method() === 'POST')
        await site.tunnel.admin('/inbox/outage?seconds=180', { method: 'POST' })
      await route.continue()
    })
    const panel = page.getByRole('region', { name: 'Outage of Sentry' })
    await panel.getByRole('button', { name: 'Simulate a Sentry outage' }).click()
    await panel.getByText('Sentry is unreachable (simulated).').waitFor()
    await read.fulfill({ json: { remaining_ms: 0, pending: 0, delivered: 0 } }) // as before the outage
    await panel.getByRole('button', { name: 'Send 10 errors' }).click()
    const shown = async () => (await panel.locator('dl').innerText()).replaceAll(/\s+/g, ' ')
    await expect.poll(shown).toMatch(/^Ends in \d+ s Pending 1\d Delivered 0$/)

    await panel.getByRole('button', { name: 'End the outage now' }).click()
    await panel.getByText(/^The outage is over\. 1\d spooled envelopes arrived in the inbox/).waitFor()
    const { entries } = await (await site.tunnel.admin('/inbox?type=event')).json()
    expect(entries.length).toBeGreaterThanOrEqual(10)
  })

  it('refuses to begin without a pass', async ({ site }) => {
    const response = await fetch(`http://127.0.0.1:${site.port}/lab/outage?pass=1.2.3&reference=00000000`, {
      method: 'POST',
    })
    expect(response.status).toBe(403)
    expect(await (await site.tunnel.admin('/inbox/outage')).json()).toMatchObject({ remaining_ms: 0 })
  })
})
