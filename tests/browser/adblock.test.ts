/** An error of a page behind an ad blocker: delivered by Culvert's path, and blocked on other paths. */

import { describe, expect } from 'vitest'
import { blockAds, listFiles, readLists, readRules } from '../support/browser/adblock.ts'
import type { Visitor } from '../support/browser/chromium.ts'
import { it } from '../support/browser/fixtures.ts'
import { requires } from '../support/requirements.ts'
import { hasItem } from '../support/sentry/received-request.ts'
import type { Site } from '../support/site.ts'

// Same URL as `tunnelRoute: '/monitoring'` of @sentry/nextjs builds for this DSN.
const TUNNEL_ROUTE = '/monitoring?o=123&p=456&r=us'

const BLOCKERS = [
  { rules: 'the rules of the tests', read: readRules },
  ...(listFiles().length > 0 ? [{ rules: 'the real lists', read: readLists }] : []),
]

describe.each(BLOCKERS)(
  'An error behind an ad blocker with $rules',
  requires('chromium', 'nginx'),
  ({ read }) => {
    const lists = read()

    it('is reported through the tunnel path of Culvert', async ({ sentry, site, visitor }) => {
      const blocked = await blockAds(visitor.page, lists)
      await throwError(visitor, site)
      await sentry.next(hasItem('event'))
      expect(blocked).toEqual([])
    })

    it('is not reported through the URL that tunnelRoute builds', async ({ sentry, site, visitor }) => {
      visitor.expectTrouble(/ERR_BLOCKED_BY_CLIENT/)
      const before = sentry.requests.length
      const blocked = await blockAds(visitor.page, lists)
      await tellBrowser(visitor, TUNNEL_ROUTE)
      await throwError(visitor, site)
      await visitor.page.getByText('not delivered: no response').waitFor()
      expect(blocked).toContainEqual(expect.stringMatching(/\/monitoring\?o=123&p=456&r=us$/))
      expect(sentry.requests.slice(before).filter(hasItem('event'))).toEqual([])
    })

    it('is not reported directly to Sentry, and the connection check says that only the direct route is blocked', async ({
      sentry,
      site,
      visitor,
    }) => {
      visitor.expectTrouble(/ERR_BLOCKED_BY_CLIENT/)
      const blocked = await blockAds(visitor.page, lists)
      await visitor.page.goto(site.url)
      await visitor.page
        .getByRole('status')
        .filter({ hasText: 'Reports arrive, but only through this site.' })
        .waitFor()
      expect(blocked).toHaveLength(2) // the report, and a HEAD request that tests the route
      for (const url of blocked)
        expect(url).toMatch(/^https:\/\/o123\.ingest\.us\.sentry\.io\/api\/456\/envelope\/\?/)
      await sentry.next(hasItem('client_report'))
    })

    it('is reported through the URL of tunnelRoute when no list blocks it', async ({
      sentry,
      site,
      visitor,
    }) => {
      await tellBrowser(visitor, TUNNEL_ROUTE)
      await throwError(visitor, site)
      await sentry.next(hasItem('event'))
      expect(visitor.posts.map((post) => post.url())).toContain(`${site.url}${TUNNEL_ROUTE}`)
    })

    async function throwError(visitor: Visitor, site: Site): Promise<void> {
      visitor.expectTrouble(/uncaught Error: Thrown on purpose/)
      await visitor.page.goto(`${site.url}/lab`)
      await visitor.page.getByRole('button', { name: 'Throw an error' }).click()
    }
  },
)

/** Changes the `tunnel` option that the page passes to the SDK, before the SDK reads it. */
async function tellBrowser({ page }: Visitor, tunnel: string): Promise<void> {
  await page.addInitScript((tunnel) => {
    const observer = new MutationObserver(() => {
      const { dataset } = document.documentElement
      dataset.settings = JSON.stringify({ ...JSON.parse(dataset.settings ?? '{}'), tunnel })
      observer.disconnect()
    })
    observer.observe(document, { childList: true })
  }, tunnel)
}
