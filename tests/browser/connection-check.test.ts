/** Results of the connection check in the browsers and set-ups of visitors. */

import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { findingsInBothThemes } from '../support/browser/axe.ts'
import { it as base } from '../support/browser/fixtures.ts'
import { perFile } from '../support/lifetime.ts'
import { requires } from '../support/requirements.ts'
import { hasItem, type Received } from '../support/sentry/received-request.ts'
import { startSite } from '../support/site.ts'

const CORS = { 'access-control-allow-origin': '*' }

const it = base
  .extend('sentryOptions', perFile, () => ({}))
  .extend('siteOptions', perFile, ({ sentry }) => {
    sentry.allowUnexpected() // browsers send further reports here on their own
    sentry.answer({ headers: CORS })
    return { env: { SENTRY_DSN: sentry.dsn() } }
  })
describe('Connection check', requires('chromium', 'nginx'), () => {
  it("reports both routes as free, sends one empty client report on each, and shows the receipt of the tunnel's", async ({
    sentry,
    site,
    visitor,
  }) => {
    const before = sentry.requests.length
    const tunnelled = visitor.page.waitForResponse((response) => response.url().includes('/monitoring?'))
    await visitor.page.goto(site.url)
    await verdict(visitor.page, 'Reports from this browser arrive on both routes.')

    const token = (await tunnelled).headers()['x-culvert-receipt'] ?? ''
    expect(await visitor.page.getByText(token, { exact: true }).isVisible()).toBe(false)
    await visitor.page.getByText('Receipt', { exact: true }).click()
    await visitor.page.getByText(token, { exact: true }).waitFor()
    await visitor.page.getByText('delivered', { exact: true }).waitFor({ state: 'attached' })
    const received = sentry.requests.slice(before)
    expect(received.map(isDirect).sort()).toEqual([false, true])
    expect(received.map(({ items }) => items.map(({ header }) => header.type))).toEqual([
      ['client_report'],
      ['client_report'],
    ])
    for (const { items } of received)
      expect(JSON.parse(String(items[0]?.payload)).discarded_events).toEqual([])

    await visitor.page.getByRole('button', { name: 'Check again' }).click()
    await sentry.idle()
    await expect.poll(() => sentry.requests.length - before).toBe(4)
    expect(sentry.requests.slice(before).filter(hasItem('event'))).toEqual([])
  })

  it('reports the direct route as blocked', async ({ sentry, site, visitor }) => {
    visitor.expectTrouble(/ERR_BLOCKED_BY_CLIENT/)
    const before = sentry.requests.length
    await visitor.page.route(isDirectUrl, (route) => route.abort('blockedbyclient'))
    await visitor.page.goto(site.url)
    await verdict(visitor.page, 'Reports arrive, but only through this site.')
    await visitor.page
      .getByRole('listitem')
      .filter({ hasText: 'The request failed in this browser or network before it reached Sentry.' })
      .waitFor()
    expect(sentry.requests.slice(before).map(isDirect)).toEqual([false])
  })

  it('does not report a blocker when Sentry responds without CORS headers', async ({
    sentry,
    site,
    visitor,
  }) => {
    visitor.expectTrouble(/blocked by CORS policy/)
    visitor.allowTrouble(/ERR_FAILED/)
    sentry.answer({})
    await visitor.page.goto(site.url)
    await verdict(visitor.page, 'This page cannot judge the direct route.')
    sentry.answer({ headers: CORS })
    await visitor.page
      .getByRole('listitem')
      .filter({ hasText: 'the browser does not let this page read it' })
      .waitFor()
  })

  it('reports a wrong Content-Security-Policy as an error of this site', async ({ site, visitor }) => {
    visitor.expectTrouble(/violates the (following|document's) Content Security Policy/)
    await visitor.page.addInitScript(() => {
      new MutationObserver((_, observer) => {
        if (!document.head) return
        const policy = document.head.appendChild(document.createElement('meta'))
        Object.assign(policy, { httpEquiv: 'Content-Security-Policy', content: "connect-src 'self'" })
        observer.disconnect()
      }).observe(document, { childList: true, subtree: true })
    })
    await visitor.page.goto(site.url)
    await verdict(
      visitor.page,
      'Reports arrive through this site. The direct request failed because of a configuration error of this site.',
    )
    await visitor.page
      .getByRole('listitem')
      .filter({
        hasText:
          'Configuration error of this site: the Content-Security-Policy of this page blocked the request.',
      })
      .waitFor()
  })

  it('reports that nothing arrives when this site does not respond either', async ({ site, visitor }) => {
    visitor.expectTrouble(/ERR_/)
    await visitor.page.route(/sentry_key=|\/monitoring\?/, (route) => route.abort('internetdisconnected'))
    await visitor.page.goto(site.url)
    await verdict(visitor.page, 'Reports from this browser do not arrive.')
  })

  it('provides a short result to copy', async ({ site, visitor }) => {
    await visitor.page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const url = `http://127.0.0.1:${site.port}/`
    await visitor.page.goto(url)
    await verdict(visitor.page, 'on both routes')
    await visitor.page.getByText('Result to copy for support').press('Enter')
    await visitor.page.getByText('Connection check of').waitFor() // it is shown with the receipt
    await visitor.page.getByRole('button', { name: 'Copy the result' }).click()
    await visitor.page.getByRole('button', { name: 'Copied' }).waitFor()
    const lines = (await visitor.page.evaluate(() => navigator.clipboard.readText())).split('\n')
    expect(lines).toEqual([
      expect.stringMatching(`^Connection check of ${url} at \\d{4}-\\d\\d-\\d\\dT`),
      'Reports from this browser arrive on both routes.',
      expect.stringMatching(/^Directly to Sentry: Sentry responded to this browser directly\. \(\d+ ms\)$/),
      expect.stringMatching(
        /^Through this site: This site forwarded the report, and Sentry responded\. \(\d+ ms\)$/,
      ),
      expect.stringMatching(/^Receipt: [0-9a-f]{32}, delivered$/),
      expect.stringMatching(/^Browser: .*Chrom/),
    ])
  })

  it('does not move the page while results arrive, at desktop and phone size', async ({ site, visitor }) => {
    for (const viewport of [
      { width: 1280, height: 900 },
      { width: 390, height: 844 },
    ]) {
      await visitor.page.setViewportSize(viewport)
      await visitor.page.addInitScript(() => {
        const shifts: number[] = []
        Object.assign(globalThis, { shifts })
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value)
        }).observe({ type: 'layout-shift', buffered: true })
      })
      await visitor.page.goto(site.url)
      await verdict(visitor.page, 'on both routes')
      await visitor.page.getByText('delivered', { exact: true }).waitFor({ state: 'attached' })
      const shifts = await visitor.page.evaluate(() => (globalThis as unknown as { shifts: number[] }).shifts)
      expect(shifts.reduce((sum, shift) => sum + shift, 0)).toBeLessThan(0.02)
    }
  })

  it('says that it needs JavaScript when scripts are off, and does not pretend to run', async ({
    site,
    chromium,
  }) => {
    await using visitor = await chromium.visitor({ javaScriptEnabled: false })
    visitor.expectTrouble(/failed: GET .*\.js csp/)
    await visitor.page.goto(site.url)
    const note = visitor.page.locator('noscript p')
    await note.waitFor({ state: 'visible' })
    expect(await note.innerText()).toContain('The check needs JavaScript, which is off in this browser.')
    expect(await visitor.page.getByText('Checking what this browser can reach').isVisible()).toBe(false)
    expect(visitor.posts).toEqual([])
  })

  it('has no axe finding in either theme', async ({ site, visitor }) => {
    await visitor.page.goto(site.url)
    await verdict(visitor.page, 'on both routes')
    await visitor.page.getByText('Result to copy for support').click()
    expect(await findingsInBothThemes(visitor.page)).toEqual([])
  })

  it('returns a receipt only for its token, and limits the number of requests', async ({ site }) => {
    const ask = (token: string) =>
      fetch(`${site.url.replace('shop.example', '127.0.0.1')}/console/public/receipt.json?token=${token}`)
    expect((await ask('')).status).toBe(400)
    expect((await ask('..%2fstatus')).status).toBe(400)
    expect((await ask('0'.repeat(32))).status).toBe(404)
    const statuses = await Promise.all(
      Array.from({ length: 70 }, async () => (await ask('0'.repeat(32))).status),
    )
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(10)
  })
})

describe('Connection check with a Sentry host that does not resolve', requires('chromium', 'nginx'), () => {
  it('reports that Sentry is unreachable from browser and site, and that the site spools reports', async ({
    visitor,
  }) => {
    await using site = await startSite({ env: { SENTRY_DSN: 'https://abc@sentry.invalid/7' } })
    visitor.expectTrouble(/ERR_NAME_NOT_RESOLVED/)
    await visitor.page.goto(site.url)
    await verdict(visitor.page, 'Sentry is unreachable, both from this browser and from this site.')
    await visitor.page.getByText('spooled', { exact: true }).waitFor({ state: 'attached' })
  })
})

describe('Connection check without a configured Sentry', requires('chromium', 'nginx'), () => {
  it('skips the direct route with a reason, and finds its own report in the inbox', async ({ visitor }) => {
    await using site = await startSite()
    await visitor.page.goto(site.url)
    await verdict(visitor.page, 'Reports from this browser arrive.')
    await visitor.page
      .getByRole('listitem')
      .filter({ hasText: 'Not tested: no Sentry is configured.' })
      .waitFor()
    await visitor.page.getByText('delivered', { exact: true }).waitFor({ state: 'attached' }) // the site must not stop before the receipt is read
    expect(visitor.posts.map((post) => new URL(post.url()).pathname)).toEqual(['/monitoring'])
    const { entries } = await (await site.tunnel.admin('/inbox')).json()
    expect(entries.map(({ types }: { types: string[] }) => types)).toEqual([['client_report']])
  })
})

async function verdict(page: Page, text: string): Promise<void> {
  await page.getByRole('status').filter({ hasText: text }).waitFor()
}

function isDirectUrl(url: URL): boolean {
  return url.searchParams.has('sentry_key')
}

/** Returns whether a browser sent the request directly: a tunnel does not forward Sec-Fetch-Mode. */
function isDirect({ headers }: Received): boolean {
  return 'sec-fetch-mode' in headers
}
