/** Error pages and the not-found page, as a visitor reads them. */

import { describe, expect } from 'vitest'
import { findingsInBothThemes } from '../support/browser/axe.ts'
import { breakPage } from '../support/browser/broken-page.ts'
import { press } from '../support/browser/console.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { labUrl } from '../support/browser/lab.ts'
import { perFile } from '../support/lifetime.ts'
import { requires } from '../support/requirements.ts'
import { BREAKABLE } from '../support/web/web.ts'

const CLOSED_PORT = '127.0.0.1:1' // nothing listens there

const it = base
  .extend('webEnv', perFile, { NODE_OPTIONS: BREAKABLE })
  .extend('nginxOptions', perFile, { tunnels: [CLOSED_PORT], web: CLOSED_PORT })
describe('An error page', requires('chromium', 'nginx'), () => {
  it('for an exception on the server shows the host, the digest of the server log and two links', async ({
    web,
    visitor,
  }) => {
    const { page } = visitor
    visitor.expectTrouble(/status of 500/)
    visitor.expectTrouble(/Minified/)
    await page.route('**/monitoring?**', (route) => route.fulfill({ json: {} }))
    await page.goto(`${web.url}/?break`)
    await expect.poll(() => page.locator('body').innerText()).toContain(serverError(web.port))
    await page.getByRole('heading', { level: 1, name: 'This page did not work.' }).waitFor()
    const digest = await page.getByText(/^Digest: \d+$/).innerText()
    expect(web.said.stderr).toContain(`digest: '${digest.slice('Digest: '.length)}'`)
    expect(await findingsInBothThemes(page)).toEqual([])

    await page.getByRole('link', { name: 'Go to the start page' }).click()
    await page.getByRole('heading', { name: 'Connection check' }).waitFor()
  })

  it('for a failed server component shows the host, the digest of the server log and two links', async ({
    web,
    visitor,
  }) => {
    const { page } = visitor
    visitor.expectTrouble(/status of 500/)
    visitor.expectTrouble(/Minified/)
    await page.route('**/monitoring?**', (route) => route.fulfill({ json: {} }))
    visitor.allowTrouble(/failed: GET .* net::ERR_ABORTED/) // the page is left while its requests are pending
    await page.goto(await labUrl(page, web.url, 'Fail in a server component', '/lab/server-component'))
    await expect.poll(() => page.locator('body').innerText()).toContain(serverError(web.port))
    await page.getByText(/^Digest: \d+$/).waitFor()
    expect(await findingsInBothThemes(page)).toEqual([])
  })

  it('for an exception before rendering shows the host and two links', async ({ web, visitor }) => {
    const { page } = visitor
    visitor.expectTrouble(/status of 500/)
    visitor.allowTrouble(/status of 404/) // web has no tunnel here
    await page.goto(`${web.url}/?break=next`)
    await expect.poll(() => page.locator('body').innerText()).toContain(serverError(web.port))
    expect(await findingsInBothThemes(page)).toEqual([])
    await Promise.all([page.waitForEvent('load'), press(page.getByRole('button', { name: 'Reload' }))])
    await page.getByRole('link', { name: 'Go to the start page' }).click()
    await page.getByRole('heading', { name: 'Connection check' }).waitFor()
  })

  it('for an exception in the browser shows the host, reports the error once, and offers a reload', async ({
    web,
    visitor,
  }) => {
    const { page, posts } = visitor
    visitor.expectTrouble(/broken while it renders/)
    await page.route('**/monitoring?**', (route) => route.fulfill({ json: {} }))
    await page.goto(web.url)
    await breakPage(page)
    expect(await page.getByText('Application error: ').innerText()).toBe(
      `Application error: a client-side exception has occurred while loading 127.0.0.1:${web.port} (see the browser console for more information).`,
    )
    expect(await page.getByText('Digest').count()).toBe(0)
    expect(await findingsInBothThemes(page)).toEqual([])

    const support = await page.getByText(/^Event ID for support: [0-9a-f]{32}$/).innerText()
    const [eventId = 'none'] = /[0-9a-f]{32}/.exec(support) ?? []
    await page.getByRole('button', { name: 'Copy the event ID' }).waitFor()
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByRole('heading', { name: 'Connection check' }).waitFor()
    const bodies = posts.map((post) => post.postData() ?? '')
    expect(bodies.join()).toContain(eventId)
    expect(bodies.filter((body) => /"value":"broken while it renders"/.test(body))).toHaveLength(1)
  })

  it('for an unknown path shows 404 and a link', async ({ web, visitor }) => {
    const { page } = visitor
    visitor.expectTrouble(/status of 404/)
    expect((await page.goto(`${web.url}/no-such-page`))?.status()).toBe(404)
    await page.getByRole('heading', { name: 'This page could not be found.' }).waitFor()
    expect(await findingsInBothThemes(page)).toEqual([])
    await page.getByRole('link', { name: 'Go to the start page' }).click()
    await page.getByRole('heading', { name: 'Connection check' }).waitFor()
  })

  it('of nginx shows the request ID and two links while web is away', async ({ nginx, visitor }) => {
    const { page } = visitor
    visitor.expectTrouble(/status of 502/)
    const answer = await page.goto(nginx.url)
    await page.getByRole('heading', { name: 'Back in a moment' }).waitFor()
    await page.getByText(`Request ${answer?.headers()['x-request-id']}`).waitFor()
    expect(await page.getByRole('link').allInnerTexts()).toEqual(['Try again', 'Go to the start page'])
    expect(await findingsInBothThemes(page)).toEqual([])
  })
})

function serverError(port: number): string {
  return `Application error: a server-side exception has occurred while loading 127.0.0.1:${port} (see the server logs for more information).`
}
