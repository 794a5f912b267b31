/** Pages of the error lab that fail on the server, for a test to open directly. */

import type { Page } from 'playwright-core'

/** Returns the URL that `button` requests, like `/lab/redirect`, with a valid pass. Leaves `page` at the lab. */
export async function labUrl(page: Page, site: string, button: string, path: string): Promise<string> {
  const wanted = `**${path}?**`
  await page.route(wanted, (route) => route.fulfill({ json: {} }))
  await page.goto(`${site}/lab`)
  const answered = page.waitForResponse(wanted) // the request event precedes the route: removed then, the request would use up the pass
  await page.getByRole('button', { name: button }).click()
  const url = (await answered).url()
  await page.unroute(wanted)
  await page.locator('button[aria-disabled=false]', { hasText: button }).waitFor() // the page has its next pass: no request of it is pending
  return url
}
