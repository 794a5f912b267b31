/** Page of the policies in Chromium. */

import { describe, expect } from 'vitest'
import { findingsInBothThemes } from '../support/browser/axe.ts'
import { startConsole } from '../support/browser/console.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { envelopeOf } from '../support/envelopes.ts'
import { endWith, perFile } from '../support/lifetime.ts'
import { requires } from '../support/requirements.ts'

const ERRORS = 12
const SETTINGS = {
  QUOTA: 'error=40/day,replay=500/day observe',
  STORM_LIMIT: '2',
  SCRUB: 'default observe',
}

const it = base.extend('policySite', perFile, async ({ chromium }, lifetime) =>
  endWith(lifetime, await startConsole(chromium, { settings: SETTINGS })),
)

describe('The page of the policies', requires('chromium', 'nginx'), () => {
  it('shows quotas, storms, rules and an example of scrubbing, on desktops and phones', async ({
    policySite,
  }) => {
    await policySite.sendMany(ERRORS, policySite.newError, 200)
    await using visitor = await policySite.operator('/policies')
    const { page } = visitor
    const panel = (name: string) => page.getByRole('region', { name, exact: true })
    // First, since a storm is listed for a minute.
    await expect
      .poll(() => panel('Storms now').innerText())
      .toMatch(/Message[\s\S]*×\d+, \d+ would have been sent/)
    await expect.poll(() => panel('Quotas').innerText()).toMatch(/error, a day[\s\S]*12 of 40 \(30 %\)/)
    expect(await panel('Quotas').innerText()).toMatch(/replay, a day[\s\S]*0 of 500/)
    const rows = page.getByRole('table', { name: 'Rules with their hits in the last hour' }).getByRole('row')
    await expect
      .poll(() => rows.allInnerTexts())
      .toContainEqual(expect.stringMatching(/^identical errors\s+Storms/))
    await expect
      .poll(() => panel('Scrubbing, quotas and storms').innerText())
      .toMatch(
        /Scrubbing[\s\S]*observes[\s\S]*Would remove[\s\S]*Quotas[\s\S]*observes[\s\S]*Storm protection[\s\S]*observes/,
      )
    const secret = '<img src=x> jane@mail.example'
    const payload = JSON.stringify({ message: secret })
    const body = envelopeOf({ dsn: policySite.sentry.dsn() }, [{ header: { type: 'event' }, payload }])
    expect((await policySite.send(body)).status).toBe(200)
    const changes = page.getByRole('table', { name: 'Values before and after scrubbing' }).getByRole('row')
    await expect
      .poll(() => changes.allInnerTexts())
      .toEqual([
        expect.stringMatching(/Value\s+Before\s+After/),
        expect.stringMatching(
          /message\s+event, @email:replace\s+<img src=x> jane@mail\.example\s+<img src=x> \[email\]/,
        ),
      ])
    expect(await panel('Example').getByRole('link').getAttribute('href')).toMatch(
      /^\/console\/inbox\/[\w-]+$/,
    )
    expect(await findingsInBothThemes(page)).toEqual([])
    await page.setViewportSize({ width: 390, height: 844 })
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await findingsInBothThemes(page)).toEqual([])
  })
})
