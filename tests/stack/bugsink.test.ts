/** A site, Culvert and Bugsink by one command: an error of a real browser becomes an issue. */

import { describe, expect } from 'vitest'
import { freePort } from '../../scripts/start/free-port.ts'
import { startChromium } from '../support/browser/chromium.ts'
import { manageWith, writeOverride } from '../support/docker/bugsink.ts'
import { it as base } from '../support/docker/fixtures.ts'
import { endWith, perFile } from '../support/lifetime.ts'
import { requires } from '../support/requirements.ts'

const it = base
  .extend('bugsinkPort', perFile, () => freePort())
  .extend('composeOptions', perFile, ({ folder, bugsinkPort }) => {
    const override = writeOverride(folder, bugsinkPort)
    return { env: { COMPOSE_FILE: `docker-compose.yml:deploy/bugsink.yml:${override}`, LAB: 'on' } }
  })
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of other fixtures from the pattern
  .extend('chromium', perFile, async ({}, lifetime) => endWith(lifetime, await startChromium()))
  .extend('visitor', async ({ chromium }, lifetime) => endWith(lifetime, await chromium.visitor()))

describe('deploy/bugsink.yml', requires('docker', 'bugsink', 'chromium'), () => {
  it('gives a site whose errors Bugsink shows as issues, without a set-up', async ({
    stack,
    visitor,
    bugsinkPort,
  }) => {
    const { page } = visitor
    await page.goto(`${stack.siteUrl}/lab`)
    visitor.allowTrouble(/./) // the errors that the lab throws
    await page.getByRole('button', { name: 'Throw an error' }).click()
    const titles = () =>
      manageWith(
        stack.compose,
        'from issues.models import Issue; print(" | ".join(i.title() for i in Issue.objects.all()))',
      )
    await expect.poll(titles, { interval: 1_000, timeout: 120_000 }).toContain('Thrown on purpose')

    const log = await stack.compose('logs', '--no-color', 'bugsink-setup')
    const [, user = '', password = ''] = /user (\S+), password (\S+)/.exec(log) ?? []
    await page.goto(`http://localhost:${bugsinkPort}/`)
    await page.locator('[name=username]').fill(user)
    await page.locator('[name=password]').fill(password)
    await page.getByRole('button', { name: 'Login' }).click()
    await page.waitForURL((url) => !url.pathname.includes('login'))
    await page.goto(`http://localhost:${bugsinkPort}/issues/1/`)
    await page
      .getByRole('link', { name: /Thrown on purpose/ })
      .first()
      .click()
    await page
      .getByText(/Thrown on purpose/)
      .first()
      .waitFor()
    expect(new URL(page.url()).pathname).toMatch(/^\/issues\/issue\//)
  })
})
