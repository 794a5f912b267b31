/** Pages of the error lab that the server alone breaks, for a test to open by itself. */

import type { Page } from 'playwright-core'

/** The URL that pressing `button` asks for, like `/lab/redirect`, with a pass that is still good. Leaves `page` at the lab. */
export async function labUrl(page: Page, site: string, button: string, path: string): Promise<string> {
  const wanted = `**${path}?**`
  await page.route(wanted, (route) => route.fulfill({ json: {} }))
  await page.goto(`${site}/lab`)
  const asked = page.waitForRequest(wanted)
  await page.getByRole('button', { name: button }).click()
  const url = (await asked).url()
  await page.unroute(wanted)
  return url
}
